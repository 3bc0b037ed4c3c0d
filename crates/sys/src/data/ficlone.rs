//! `FICLONE`, `FICLONERANGE` — share the blocks of another file:
//! <https://man7.org/linux/man-pages/man2/ioctl_ficlonerange.2.html>

use std::os::fd::{AsFd, AsRawFd};

use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// Makes the target share all blocks of the source. Atomic. `EXDEV`, `EOPNOTSUPP`, `EINVAL` (and on
/// some file systems `ENOTTY`) if that is not possible.
pub fn ficlone(source: impl AsFd, target: impl AsFd) -> Result<()> {
    rustix::fs::ioctl_ficlone(target, source).named(Call::Ficlone)
}

/// Makes a range of the target share the blocks of a range of the source.
///
/// Offsets and length are multiples of the file system's block size, except that the range may end
/// at the source's end. A length of 0 means up to the end.
pub fn ficlone_range(
    source: impl AsFd,
    source_offset: u64,
    bytes: u64,
    target: impl AsFd,
    target_offset: u64,
) -> Result<()> {
    let range = libc::file_clone_range {
        src_fd: i64::from(source.as_fd().as_raw_fd()),
        src_offset: source_offset,
        src_length: bytes,
        dest_offset: target_offset,
    };
    // SAFETY: FICLONERANGE reads one `file_clone_range`, which lives until the call returns, and
    // both descriptors are borrowed for as long.
    let answer = unsafe {
        libc::ioctl(target.as_fd().as_raw_fd(), libc::FICLONERANGE as _, &raw const range)
    };
    if answer == 0 {
        return Ok(());
    }
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    Err(CallError::new(Call::FicloneRange, errno))
}
