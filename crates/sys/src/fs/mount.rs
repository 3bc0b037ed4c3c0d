//! `mount`, `umount2` — attach a file system to a directory, and detach it:
//! <https://man7.org/linux/man-pages/man2/mount.2.html>

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd as _};

use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::Named;
use crate::{Call, Result};

/// Whether the mount is writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountAccess {
    /// Reading and writing.
    ReadWrite,
    /// Read-only; access times do not change.
    ReadOnly,
}

/// Mounts `source` (a device, or any name for a file system without one) on an open directory. The
/// kernel resolves no path but the source's, so the mount is exactly where the descriptor is. Needs
/// `/proc` and `CAP_SYS_ADMIN`.
pub fn mount_on(
    directory: impl AsFd,
    source: &CStr,
    file_system: &CStr,
    access: MountAccess,
    data: &CStr,
) -> Result<()> {
    let flags = match access {
        MountAccess::ReadWrite => MountFlags::empty(),
        MountAccess::ReadOnly => MountFlags::RDONLY | MountFlags::NOATIME,
    };
    // A thread does not necessarily share the descriptor table of the main thread.
    let point = format!("/proc/thread-self/fd/{}", directory.as_fd().as_raw_fd());
    rustix::mount::mount(source, point, file_system, flags, data).named(Call::Mount)
}

/// Unmounts the file system at `name` in an open directory; does not follow symbolic links. Fails
/// with `EBUSY` while it is in use, and with `EINVAL` if nothing is mounted there.
pub fn unmount_at(directory: impl AsFd, name: &CStr) -> Result<()> {
    let descriptor = directory.as_fd().as_raw_fd();
    let mut point = format!("/proc/thread-self/fd/{descriptor}/").into_bytes();
    point.extend_from_slice(name.to_bytes());
    rustix::mount::unmount(point, UnmountFlags::NOFOLLOW).named(Call::Umount2)
}
