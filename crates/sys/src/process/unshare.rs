//! `unshare` — gives the calling thread a mount namespace, a table of descriptors, or a current directory of its own:
//! <https://man7.org/linux/man-pages/man2/unshare.2.html>

use rustix::thread::UnshareFlags;

use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// Returns whether a thread may have a table of descriptors of its own (`CLONE_FILES`). Starts a thread
/// to find out, which ends at once.
pub fn can_unshare_descriptors() -> Result<()> {
    let asked = std::thread::spawn(|| {
        // SAFETY: this thread opens, closes and uses no descriptor, so that it cannot mistake one of
        // its own table for one of the process.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }.named(Call::Unshare)
    });
    asked.join().unwrap_or(Err(CallError::new(Call::Unshare, Errno::AGAIN)))
}

/// Gives the calling *thread*, and all threads that it starts afterwards, a current directory, a root directory and a umask
/// that no other thread changes (`CLONE_FS`): copies of the present ones.
pub fn unshare_directory() -> Result<()> {
    // SAFETY: only unsharing the descriptor table could break assumptions of other threads.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.named(Call::Unshare)
}

/// Moves the calling *thread*, and all threads and processes that it starts afterwards, into a new
/// mount namespace with a working directory of its own. The namespace starts as a copy; mounts with
/// shared propagation stay visible on both sides until they are made private. The kernel removes
/// the namespace and its mounts with the last process in it. Fails with `EPERM` without
/// `CAP_SYS_ADMIN`.
pub fn unshare_mounts() -> Result<()> {
    // SAFETY: only unsharing the descriptor table could break assumptions of other threads.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.named(Call::Unshare)
}
