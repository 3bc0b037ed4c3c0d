//! `uname` — which kernel runs, and on which machine: <https://man7.org/linux/man-pages/man2/uname.2.html>

/// Returns the kernel's release, as in `6.18.5-generic`.
#[must_use]
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Returns the name of the machine, as `uname -n` prints it.
#[must_use]
pub fn host_name() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_vec()
}
