//! Calls on the file behind a descriptor, by its entry in `/proc/self/fd`: opens it again, and
//! changes attributes of files that were opened with `O_PATH` (a link, a FIFO, a socket, a device).
//!
//! The descriptor pins the inode, so that replacing the name has no effect. Owner and times take
//! the descriptor itself (`AT_EMPTY_PATH`, for times since Linux 5.8); mode and extended attributes
//! go through its entry in `/proc/self/fd`, for `fchmodat2` is as new as Linux 6.6 and `setxattrat`
//! as 6.13: <https://man7.org/linux/man-pages/man2/open.2.html>

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, XattrFlags};

use crate::error::Named;
use crate::fs::TimePair;
use crate::{Call, CallError, Errno, Result};

fn entry(fd: BorrowedFd<'_>, call: Call) -> Result<CString> {
    CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd()))
        .map_err(|_| CallError::new(call, Errno::INVAL))
}

/// Opens the file of a descriptor once more for reading, with a position and flags of its own.
/// Fails with `EBADF` if the descriptor is not open for reading, with `ENOENT` without `/proc`, and
/// with `EACCES` if the process that passed the descriptor may read the file and this process may
/// not.
pub fn open_anew(fd: impl AsFd) -> Result<OwnedFd> {
    // A read of zero bytes checks only the permission to read.
    rustix::io::read(&fd, &mut [0_u8; 0]).named(Call::Read)?;
    let path = entry(fd.as_fd(), Call::Openat)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::openat(CWD, &path, flags, Mode::empty()).named(Call::Openat)
}

/// Opens the file of a descriptor once more for writing, with a position and flags of its own. Fails with
/// `ENOENT` without `/proc`, and with `EACCES` if this process may not write to the file now.
pub fn open_anew_for_writing(fd: impl AsFd) -> Result<OwnedFd> {
    let path = entry(fd.as_fd(), Call::Openat)?;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::openat(CWD, &path, flags, Mode::empty()).named(Call::Openat)
}

/// Sets owner and group of the file behind the descriptor, of the link itself if it is one.
pub fn chown_handle(fd: impl AsFd, uid: u32, gid: u32) -> Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    rustix::fs::chownat(fd, c"", uid, gid, AtFlags::EMPTY_PATH).named(Call::Fchownat)
}

/// Sets the twelve permission bits of the file behind the descriptor. `ENOENT` without `/proc`.
pub fn chmod_handle(fd: impl AsFd, mode: u32) -> Result<()> {
    let path = entry(fd.as_fd(), Call::Fchmodat)?;
    let mode = Mode::from_raw_mode(mode & 0o7777);
    rustix::fs::chmodat(CWD, &path, mode, AtFlags::empty()).named(Call::Fchmodat)
}

/// Sets the times of the file behind the descriptor, of the link itself if it is one.
pub fn utimens_handle(fd: impl AsFd, times: TimePair) -> Result<()> {
    rustix::fs::utimensat(fd, c"", &times.raw(), AtFlags::EMPTY_PATH).named(Call::Utimensat)
}

/// Sets an attribute of the file behind the descriptor. `ENOENT` without `/proc`.
pub fn setxattr_handle(fd: impl AsFd, attribute: &CStr, value: &[u8]) -> Result<()> {
    let path = entry(fd.as_fd(), Call::Lsetxattr)?;
    rustix::fs::setxattr(&path, attribute, value, XattrFlags::empty()).named(Call::Lsetxattr)
}

/// Removes an attribute of the file behind the descriptor; `ENODATA` when it has no such attribute.
pub fn removexattr_handle(fd: impl AsFd, attribute: &CStr) -> Result<()> {
    let path = entry(fd.as_fd(), Call::Fremovexattr)?;
    rustix::fs::removexattr(&path, attribute).named(Call::Fremovexattr)
}
