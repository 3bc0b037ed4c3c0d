//! `statx(STATX_DIOALIGN)` — the alignment that direct I/O on a file requires (Linux 6.1):
//! <https://man7.org/linux/man-pages/man2/statx.2.html>

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags};

use crate::error::Named;
use crate::{Call, Result};

/// `STATX_DIOALIGN` of `include/uapi/linux/stat.h`.
const DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// Alignment of direct I/O on a file, as the file system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectAlign {
    /// The file system does not report it.
    Unknown,
    /// The file does not support direct I/O.
    Refused,
    /// Addresses and offsets (and lengths) are multiples of these, in bytes.
    Bytes {
        /// Alignment of addresses in memory.
        memory: u32,
        /// Alignment of offsets and lengths.
        offset: u32,
    },
}

/// Returns the alignment that direct I/O on an open file requires.
pub fn direct_align(fd: impl AsFd) -> Result<DirectAlign> {
    let answer = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, DIOALIGN).named(Call::Statx)?;
    if answer.stx_mask & DIOALIGN.bits() == 0 {
        return Ok(DirectAlign::Unknown);
    }
    Ok(match (answer.stx_dio_mem_align, answer.stx_dio_offset_align) {
        (0, _) | (_, 0) => DirectAlign::Refused,
        (memory, offset) => DirectAlign::Bytes { memory, offset },
    })
}
