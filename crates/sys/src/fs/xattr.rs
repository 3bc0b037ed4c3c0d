//! `flistxattr`, `fgetxattr`, `fsetxattr` and related calls — extended attributes:
//! <https://man7.org/linux/man-pages/man7/xattr.7.html>
//!
//! There are no `*at` forms before Linux 6.13, so a symbolic link's attributes are reached through
//! its directory's entry in `/proc/self/fd`, and without `/proc` from that directory.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::in_directory::{in_directory, may_lack_proc, needs_no_directory};
use crate::error::Named;
use crate::{Call, CallError, Result};

/// Bytes of the first buffer: nearly every list of names and most values fit.
const USUAL_BYTES: usize = 256;

/// The kernel's limit for a value (`XATTR_SIZE_MAX`) and for a list of names (`XATTR_LIST_MAX`),
/// from `include/uapi/linux/limits.h`. No value is longer, so one more call with a buffer of this
/// size suffices, even if a value grows between the two calls.
const LIMIT_BYTES: usize = 65536;

/// Reads a list or a value of unknown length: into a small buffer, then into one of the kernel's
/// limit. It does not ask for the length first, because rustix answers 0 to an empty buffer.
pub(super) fn read_all(
    call: Call,
    mut read: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>,
) -> Result<Vec<u8>> {
    let mut buffer = vec![0_u8; USUAL_BYTES];
    let mut answer = read(&mut buffer);
    if answer == Err(Errno::RANGE) {
        buffer.resize(LIMIT_BYTES, 0);
        answer = read(&mut buffer);
    }
    let length = answer.named(call)?;
    buffer.truncate(length);
    buffer.shrink_to_fit();
    Ok(buffer)
}

pub(super) fn split(list: &[u8]) -> Vec<CString> {
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect()
}

/// Returns the names of an open file's attributes; `ENOTSUP` where the file system has none.
pub fn flistxattr(fd: impl AsFd) -> Result<Vec<CString>> {
    let fd = fd.as_fd();
    // Nearly every file has no attributes; that case needs no allocation.
    let mut small = [0_u8; USUAL_BYTES];
    match rustix::fs::flistxattr(fd, &mut small) {
        Ok(length) => return Ok(split(&small[..length])),
        Err(Errno::RANGE) => {}
        Err(errno) => return Err(CallError::new(Call::Flistxattr, errno)),
    }
    read_all(Call::Flistxattr, |buffer| rustix::fs::flistxattr(fd, buffer)).map(|list| split(&list))
}

/// Returns the value of an open file's attribute; `ENODATA` when it has no such attribute.
pub fn fgetxattr(fd: impl AsFd, name: &CStr) -> Result<Vec<u8>> {
    let fd = fd.as_fd();
    read_all(Call::Fgetxattr, |buffer| rustix::fs::fgetxattr(fd, name, buffer))
}

/// Sets an attribute of an open file, new or not.
pub fn fsetxattr(fd: impl AsFd, name: &CStr, value: &[u8]) -> Result<()> {
    rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty()).named(Call::Fsetxattr)
}

/// Removes an attribute of an open file; `ENODATA` when it has no such attribute.
pub fn fremovexattr(fd: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::fremovexattr(fd, name).named(Call::Fremovexattr)
}

/// Makes a call on a name in a directory. An absolute name means the same without the directory.
fn by_name<T: Send>(
    directory: BorrowedFd<'_>,
    name: &CStr,
    call: Call,
    act: impl Fn(&CStr) -> Result<T> + Send,
) -> Result<T> {
    if needs_no_directory(directory, name) {
        return act(name);
    }
    match act(&proc_path(directory, name, call)?) {
        Err(error) if may_lack_proc(error.errno) => in_directory(directory, name, call, act),
        answer => answer,
    }
}

fn proc_path(directory: BorrowedFd<'_>, name: &CStr, call: Call) -> Result<CString> {
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    CString::new(path).map_err(|_| CallError::new(call, Errno::INVAL))
}

/// Returns the names of the attributes of a name in a directory, of the link itself if it is one.
pub fn llistxattr_at(directory: impl AsFd, name: &CStr) -> Result<Vec<CString>> {
    let call = Call::Llistxattr;
    by_name(directory.as_fd(), name, call, |path| {
        read_all(call, |buffer| rustix::fs::llistxattr(path, buffer)).map(|list| split(&list))
    })
}

/// Returns an attribute of a name in a directory, of the link itself if it is one.
pub fn lgetxattr_at(directory: impl AsFd, name: &CStr, attribute: &CStr) -> Result<Vec<u8>> {
    let call = Call::Lgetxattr;
    by_name(directory.as_fd(), name, call, |path| {
        read_all(call, |buffer| rustix::fs::lgetxattr(path, attribute, buffer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as the kernel does for a value whose length may differ at each call.
    fn kernel(lengths: &[usize]) -> impl FnMut(&mut [u8]) -> rustix::io::Result<usize> + '_ {
        let mut lengths = lengths.iter().copied();
        move |buffer| {
            let length = lengths.next().unwrap();
            if length > buffer.len() {
                return Err(Errno::RANGE);
            }
            buffer[..length].fill(7);
            Ok(length)
        }
    }

    #[test]
    fn every_length_up_to_the_limit_is_read_whole() {
        for length in [0, 1, 255, 256, 257, 3000, 4000, 65535, 65536] {
            let value = read_all(Call::Fgetxattr, kernel(&[length, length])).unwrap();
            assert_eq!(value, vec![7; length]);
        }
    }

    #[test]
    fn a_value_that_changes_its_length_between_two_calls_is_read_whole() {
        for (first, second) in [(257, 65536), (300, 0), (4000, 4001)] {
            let value = read_all(Call::Fgetxattr, kernel(&[first, second])).unwrap();
            assert_eq!(value, vec![7; second]);
        }
    }

    #[test]
    fn what_does_not_fit_the_limit_is_an_error() {
        let error = read_all(Call::Fgetxattr, kernel(&[65537, 65537])).unwrap_err();
        assert_eq!(error, CallError::new(Call::Fgetxattr, Errno::RANGE));
    }
}
