//! `unshare` — stops sharing something with the rest of the process:
//! <https://man7.org/linux/man-pages/man2/unshare.2.html>

use rustix::thread::UnshareFlags;

use crate::error::Named;
use crate::{Call, Result};

/// Gives the calling *thread*, and all threads and processes that it starts from here on, a mount
/// namespace of their own, and with it a working directory of their own. It begins as a copy; where
/// mounts are shared, what is mounted still shows on both sides until they are made private. It goes
/// away, and everything that was mounted in it, with the last that is in it. `EPERM` without
/// `CAP_SYS_ADMIN`.
pub fn unshare_mounts() -> Result<()> {
    // SAFETY: only unsharing the table of descriptors can break what other threads rely on.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.named(Call::Unshare)
}
