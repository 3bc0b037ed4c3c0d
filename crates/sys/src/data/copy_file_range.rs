//! `copy_file_range` — copies bytes between files within the kernel:
//! <https://man7.org/linux/man-pages/man2/copy_file_range.2.html>
//!
//! The raw call, not the C library's (2.41 and 2.42 corrupt ranges over 2 GiB). May reflink. May
//! return less than requested, and 0 for files whose size the kernel does not know (`/proc`).
//! `EXDEV` across file systems since Linux 5.19, and always before 5.3.

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Copies up to `bytes` from one offset to another and returns how many it copied.
pub fn copy_file_range(
    source: impl AsFd,
    source_offset: u64,
    target: impl AsFd,
    target_offset: u64,
    bytes: usize,
) -> Result<usize> {
    let (mut from, mut to) = (source_offset, target_offset);
    rustix::fs::copy_file_range(source, Some(&mut from), target, Some(&mut to), bytes)
        .named(Call::CopyFileRange)
}

/// Copies up to `bytes` from the file offset of one descriptor to that of another, and advances
/// both.
///
/// Fails with `EBADF` if the target is open with `O_APPEND`.
pub fn copy_file_range_on(source: impl AsFd, target: impl AsFd, bytes: usize) -> Result<usize> {
    rustix::fs::copy_file_range(source, None, target, None, bytes).named(Call::CopyFileRange)
}
