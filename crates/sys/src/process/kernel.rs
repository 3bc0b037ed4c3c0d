//! `uname` — which kernel runs: <https://man7.org/linux/man-pages/man2/uname.2.html>

/// Returns the kernel's release, as in `6.18.5-generic`.
#[must_use]
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
