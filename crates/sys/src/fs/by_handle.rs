//! Calls on the file behind a descriptor, by its entry in `/proc/self/fd`: opens it again, and
//! changes attributes of files that were opened with `O_PATH` (a link, a FIFO, a socket, a device).
//!
//! The descriptor pins the inode, so that replacing the name has no effect. Owner and times take
//! the descriptor itself (`AT_EMPTY_PATH`, for times since Linux 5.8), and so does the mode since
//! Linux 6.6; extended attributes go through its entry in `/proc/self/fd`, for `setxattrat` is as new
//! as 6.13: <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! Where there is no `/proc`, as in a rescue system, the name is used, if it still leads to the file. A
//! process that exchanges the name between that check and the call is not noticed there.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, XattrFlags};

use super::fchmodat2::fchmodat2;
use super::in_directory::{in_directory, may_lack_proc};
use super::xattr::{read_all, split};
use crate::error::Named;
use crate::fs::{Stat, TimePair, fstat, statat, statat_follow};
use crate::{Call, CallError, Errno, Result};

fn entry(fd: BorrowedFd<'_>, call: Call) -> Result<CString> {
    CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd()))
        .map_err(|_| CallError::new(call, Errno::INVAL))
}

/// A file that is open with `O_PATH`, and the name by which it was opened.
#[derive(Clone, Copy, Debug)]
pub struct Pinned<'f> {
    /// The descriptor.
    pub file: BorrowedFd<'f>,
    /// The directory that the name is relative to.
    pub directory: BorrowedFd<'f>,
    /// The name, which need not lead to the file any more.
    pub name: &'f CStr,
}

impl Pinned<'_> {
    /// Makes a call on the file's entry in `/proc/self/fd`, or without `/proc` on its name. Fails with
    /// `ESTALE` if there is no `/proc`, and the name leads to another file.
    fn by_path<T: Send>(
        self,
        call: Call,
        by_entry: impl FnOnce(&CStr) -> rustix::io::Result<T>,
        by_name: impl FnOnce(&CStr) -> rustix::io::Result<T> + Send,
    ) -> Result<T> {
        match by_entry(&entry(self.file, call)?) {
            Err(errno) if may_lack_proc(errno) => {}
            answer => return answer.named(call),
        }
        self.demand_same(call, &statat(self.directory, self.name)?)?;
        in_directory(self.directory, self.name, call, |name| by_name(name).named(call))
    }

    /// Reads from the file's entry in `/proc/self/fd`, or without `/proc` from the file that its name leads
    /// to, also through symbolic links. Fails with `ESTALE` if there is no `/proc`, and that is another file.
    fn read_by_path<T: Send>(
        self,
        call: Call,
        read: impl Fn(&CStr) -> Result<T> + Send,
    ) -> Result<T> {
        match read(&entry(self.file, call)?) {
            Err(error) if may_lack_proc(error.errno) => {}
            answer => return answer,
        }
        self.demand_same(call, &statat_follow(self.directory, self.name)?)?;
        in_directory(self.directory, self.name, call, read)
    }

    fn demand_same(self, call: Call, found: &Stat) -> Result<()> {
        let is_same = fstat(self.file)?.same_file(found);
        if is_same { Ok(()) } else { Err(CallError::new(call, Errno::STALE)) }
    }
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

/// Sets owner and group of the file behind the descriptor, of the link itself if it is one; `None` leaves one as it is.
pub fn chown_handle(fd: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
    let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    rustix::fs::chownat(fd, c"", uid, gid, AtFlags::EMPTY_PATH).named(Call::Fchownat)
}

/// Sets the twelve permission bits of the file behind the descriptor, which is no symbolic link.
pub fn chmod_handle(pinned: Pinned<'_>, mode: u32) -> Result<()> {
    match fchmodat2(pinned.file, mode) {
        // Containers answer EPERM or EACCES for calls that they do not know.
        Err(error) if matches!(error.errno, Errno::NOSYS | Errno::PERM | Errno::ACCESS) => {}
        answer => return answer,
    }
    let mode = Mode::from_raw_mode(mode & 0o7777);
    let chmod = |path: &CStr| rustix::fs::chmodat(CWD, path, mode, AtFlags::empty());
    pinned.by_path(Call::Fchmodat, chmod, chmod)
}

/// Sets the times of the file behind the descriptor, of the link itself if it is one.
pub fn utimens_handle(fd: impl AsFd, times: TimePair) -> Result<()> {
    rustix::fs::utimensat(fd, c"", &times.raw(), AtFlags::EMPTY_PATH).named(Call::Utimensat)
}

/// Sets an attribute of the file behind the descriptor, of the link itself if it is one.
pub fn setxattr_handle(pinned: Pinned<'_>, attribute: &CStr, value: &[u8]) -> Result<()> {
    let flags = XattrFlags::empty();
    pinned.by_path(
        Call::Lsetxattr,
        |entry| rustix::fs::setxattr(entry, attribute, value, flags),
        |name| rustix::fs::lsetxattr(name, attribute, value, flags),
    )
}

/// Removes an attribute of the file behind the descriptor; `ENODATA` when it has no such attribute.
pub fn removexattr_handle(pinned: Pinned<'_>, attribute: &CStr) -> Result<()> {
    pinned.by_path(
        Call::Fremovexattr,
        |entry| rustix::fs::removexattr(entry, attribute),
        |name| rustix::fs::lremovexattr(name, attribute),
    )
}

/// Returns the names of the attributes of the file behind the descriptor, which is no symbolic link.
pub fn listxattr_handle(pinned: Pinned<'_>) -> Result<Vec<CString>> {
    let call = Call::Listxattr;
    pinned.read_by_path(call, |path| {
        read_all(call, |buffer| rustix::fs::listxattr(path, buffer)).map(|list| split(&list))
    })
}

/// Returns an attribute of the file behind the descriptor, which is no symbolic link; `ENODATA` when it has
/// no such attribute.
pub fn getxattr_handle(pinned: Pinned<'_>, attribute: &CStr) -> Result<Vec<u8>> {
    let call = Call::Getxattr;
    pinned.read_by_path(call, |path| {
        read_all(call, |buffer| rustix::fs::getxattr(path, attribute, buffer))
    })
}
