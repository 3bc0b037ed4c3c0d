//! A private mount namespace, so that mounts end with this process in every case.

use crate::error::{Context, Result};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

/// Leaves the machine's mount namespace, for this thread and all threads and processes that it starts
/// later.
///
/// Must be called on the thread that starts the tests, because the call affects one thread only.
pub(crate) fn enter_private() -> Result<()> {
    #[expect(deprecated, reason = "unsafe only with FILES: NEWNS leaves descriptors alone")]
    rustix::thread::unshare(UnshareFlags::NEWNS).context("make", "a mount namespace")?;
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).context("make private", "the mounts of the new namespace")
}
