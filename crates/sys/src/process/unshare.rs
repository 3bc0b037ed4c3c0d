//! `unshare` — gives the calling thread a mount namespace of its own:
//! <https://man7.org/linux/man-pages/man2/unshare.2.html>

use rustix::thread::UnshareFlags;

use crate::error::Named;
use crate::{Call, Result};

/// Moves the calling *thread*, and all threads and processes that it starts afterwards, into a new
/// mount namespace with a working directory of its own. The namespace starts as a copy; mounts with
/// shared propagation stay visible on both sides until they are made private. The kernel removes
/// the namespace and its mounts with the last process in it. Fails with `EPERM` without
/// `CAP_SYS_ADMIN`.
pub fn unshare_mounts() -> Result<()> {
    // SAFETY: only unsharing the descriptor table could break assumptions of other threads.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.named(Call::Unshare)
}
