//! `flistxattr`, `fgetxattr`, `fsetxattr` and their kin — extended attributes:
//! <https://man7.org/linux/man-pages/man7/xattr.7.html>
//!
//! There are no `*at` forms before Linux 6.13, so a symbolic link's attributes are reached through
//! its directory's entry in `/proc/self/fd`.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use crate::error::Named;
use crate::{Call, CallError, Result};

/// The kernel's limit for a value and for a list, `XATTR_SIZE_MAX`.
const LIMIT_BYTES: usize = 65536;

/// How often a list or value that grows between measuring and reading is measured again.
const ATTEMPTS: usize = 8;

/// Reads something of unknown length: once into a small buffer, then measured.
fn read_growing(
    call: Call,
    mut read: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>,
) -> Result<Vec<u8>> {
    let mut buffer = vec![0_u8; 256];
    for _ in 0..ATTEMPTS {
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < LIMIT_BYTES => {
                let length = read(&mut []).named(call)?;
                buffer.resize(length.clamp(1, LIMIT_BYTES), 0);
            }
            Err(errno) => return Err(CallError::new(call, errno)),
        }
    }
    Err(CallError::new(call, Errno::RANGE))
}

fn split(list: &[u8]) -> Vec<CString> {
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect()
}

/// Returns the names of an open file's attributes; `ENOTSUP` where the file system has none.
pub fn flistxattr(fd: impl AsFd) -> Result<Vec<CString>> {
    let fd = fd.as_fd();
    // Nearly every file has none; that answer needs no allocation.
    let mut small = [0_u8; 256];
    match rustix::fs::flistxattr(fd, &mut small) {
        Ok(length) => return Ok(split(small.get(..length).unwrap_or(&[]))),
        Err(Errno::RANGE) => {}
        Err(errno) => return Err(CallError::new(Call::Flistxattr, errno)),
    }
    read_growing(Call::Flistxattr, |buffer| rustix::fs::flistxattr(fd, buffer))
        .map(|list| split(&list))
}

/// Returns the value of an open file's attribute; `ENODATA` when it has no such attribute.
pub fn fgetxattr(fd: impl AsFd, name: &CStr) -> Result<Vec<u8>> {
    let fd = fd.as_fd();
    read_growing(Call::Fgetxattr, |buffer| rustix::fs::fgetxattr(fd, name, buffer))
}

/// Sets an attribute of an open file, new or not.
pub fn fsetxattr(fd: impl AsFd, name: &CStr, value: &[u8]) -> Result<()> {
    rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty()).named(Call::Fsetxattr)
}

/// Removes an attribute of an open file; `ENODATA` when it has no such attribute.
pub fn fremovexattr(fd: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::fremovexattr(fd, name).named(Call::Fremovexattr)
}

fn proc_path(directory: BorrowedFd<'_>, name: &CStr, call: Call) -> Result<CString> {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    CString::new(path).map_err(|_| CallError::new(call, Errno::INVAL))
}

/// Returns the names of the attributes of a name in a directory, of the link itself if it is one.
pub fn llistxattr_at(directory: impl AsFd, name: &CStr) -> Result<Vec<CString>> {
    let path = proc_path(directory.as_fd(), name, Call::Llistxattr)?;
    read_growing(Call::Llistxattr, |buffer| rustix::fs::llistxattr(&path, buffer))
        .map(|list| split(&list))
}

/// Returns an attribute of a name in a directory, of the link itself if it is one.
pub fn lgetxattr_at(directory: impl AsFd, name: &CStr, attribute: &CStr) -> Result<Vec<u8>> {
    let path = proc_path(directory.as_fd(), name, Call::Lgetxattr)?;
    read_growing(Call::Lgetxattr, |buffer| rustix::fs::lgetxattr(&path, attribute, buffer))
}
