//! `umask` — which permission bits new files lose: <https://man7.org/linux/man-pages/man2/umask.2.html>

use rustix::fs::Mode;

/// Returns the process's umask.
///
/// umask(2) returns the mask only by setting it, so this function sets it twice; call it before any
/// thread creates files.
#[must_use]
pub fn umask() -> u32 {
    let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

/// Sets the process's umask; bits other than those of permissions have no effect. Call it before any thread
/// creates files.
pub fn set_umask(mask: u32) {
    rustix::process::umask(Mode::from_raw_mode(mask & 0o777));
}
