//! `FS_IOC_FSGETXATTR`, `FS_IOC_FSSETXATTR` — the project that a file counts for:
//! <https://man7.org/linux/man-pages/man2/ioctl_xfs_fsgetxattr.2.html>

use std::os::fd::{AsFd, AsRawFd};

use super::InodeFlags;
use crate::{Call, CallError, Errno, Result};

/// `_IOR('X', 31, struct fsxattr)`.
const FS_IOC_FSGETXATTR: u64 = 0x801c_581f;

/// `_IOW('X', 32, struct fsxattr)`.
const FS_IOC_FSSETXATTR: u64 = 0x401c_5820;

/// `struct fsxattr`.
#[repr(C)]
#[derive(Default)]
struct Extended {
    flags: u32,
    extent_bytes: u32,
    extents: u32,
    project: u32,
    cow_extent_bytes: u32,
    padding: [u8; 8],
}

/// Flags of this structure (`FS_XFLAG_*`), and the same ones of FS_IOC_GETFLAGS.
const FLAGS: [(u32, InodeFlags); 7] = [
    (0x8, InodeFlags::IMMUTABLE),
    (0x10, InodeFlags::APPEND_ONLY),
    (0x20, InodeFlags::SYNC),
    (0x40, InodeFlags::NO_ATIME),
    (0x80, InodeFlags::NO_DUMP),
    (0x200, InodeFlags::PROJECT_INHERIT),
    (0x8000, InodeFlags::DAX),
];

/// Returns the flags and the project of an open file or directory with one call. XFS has no flags but those
/// that this call tells; other file systems have.
///
/// Fails with `ENOTTY` or `EOPNOTSUPP` where the file system has none.
pub fn flags_and_project(fd: impl AsFd) -> Result<(InodeFlags, u32)> {
    let told = get(fd)?;
    let is_set = |(bit, _): &&(u32, InodeFlags)| told.flags & bit != 0;
    let add = |all: InodeFlags, (_, flag): &(u32, InodeFlags)| all.and(*flag);
    Ok((FLAGS.iter().filter(is_set).fold(InodeFlags::NONE, add), told.project))
}

/// Returns the number of the project that an open file or directory counts for, 0 if none.
///
/// Fails with `ENOTTY` or `EOPNOTSUPP` where the file system has no projects.
pub fn project(fd: impl AsFd) -> Result<u32> {
    get(&fd).map(|told| told.project)
}

/// Sets the project of an open file or directory.
///
/// Fails with `EOPNOTSUPP` where the file system has no projects, and with `EINVAL` in a user namespace.
pub fn set_project(fd: impl AsFd, project: u32) -> Result<()> {
    let wanted = Extended { project, ..get(&fd)? };
    // SAFETY: the request reads 28 bytes, the size of `Extended`, which lives until the call returns; the
    // descriptor is borrowed for as long.
    let answer =
        unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), FS_IOC_FSSETXATTR as _, &raw const wanted) };
    if answer == 0 { Ok(()) } else { Err(last_error(Call::SetProject)) }
}

fn get(fd: impl AsFd) -> Result<Extended> {
    let mut told = Extended::default();
    // SAFETY: the request writes 28 bytes, the size of `Extended`, which lives until the call returns; the
    // descriptor is borrowed for as long.
    let answer =
        unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), FS_IOC_FSGETXATTR as _, &raw mut told) };
    if answer == 0 { Ok(told) } else { Err(last_error(Call::GetProject)) }
}

fn last_error(call: Call) -> CallError {
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    CallError::new(call, errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, Follow, open_directory};

    #[test]
    fn the_structure_has_the_size_that_the_requests_name() {
        let bytes = std::mem::size_of::<Extended>() as u64;
        assert_eq!(bytes, FS_IOC_FSGETXATTR >> 16 & 0x3fff);
        assert_eq!(bytes, FS_IOC_FSSETXATTR >> 16 & 0x3fff);
    }

    #[test]
    fn a_file_system_of_the_kernel_has_no_projects() {
        let proc = open_directory(CWD, c"/proc", Follow::Yes).unwrap();
        assert_eq!(project(&proc).unwrap_err().errno, Errno::NOTTY);
    }
}
