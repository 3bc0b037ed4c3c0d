//! `geteuid`, `getegid` — the user and group of this process:
//! <https://man7.org/linux/man-pages/man2/geteuid.2.html>

/// Effective user and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
}

/// Returns the effective user and group; never fails.
#[must_use]
pub fn identity() -> Identity {
    Identity { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
}
