//! A mount namespace of our own, so that mounts end with this process whatever ends it.

use crate::error::{Context, Result};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

/// Leaves the machine's mount namespace, for this thread and all that it starts from now on.
///
/// Must be called on the thread that starts the tests, as the call is about one thread only.
pub(crate) fn enter_private() -> Result<()> {
    #[expect(deprecated, reason = "unsafe only with FILES: NEWNS leaves descriptors alone")]
    rustix::thread::unshare(UnshareFlags::NEWNS).context("make", "a mount namespace")?;
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).context("make private", "the mounts of the new namespace")
}
