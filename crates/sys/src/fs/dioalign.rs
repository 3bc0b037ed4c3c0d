//! `statx(STATX_DIOALIGN)` — what direct I/O on a file has to be aligned to (Linux 6.1):
//! <https://man7.org/linux/man-pages/man2/statx.2.html>

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags};

use crate::error::Named;
use crate::{Call, Result};

/// `STATX_DIOALIGN` of `include/uapi/linux/stat.h`.
const DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// What a file system says of direct I/O on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectAlign {
    /// It does not say.
    Unknown,
    /// There is none on this file.
    Refused,
    /// Addresses and offsets (and lengths) are multiples of these, in bytes.
    Bytes {
        /// Of addresses in memory.
        memory: u32,
        /// Of offsets and lengths.
        offset: u32,
    },
}

/// Asks what direct I/O on an open file has to be aligned to.
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
