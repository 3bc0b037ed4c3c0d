//! `preadv2`, `pwritev2` with `RWF_DONTCACHE` — buffered I/O that leaves no pages in the cache:
//! <https://man7.org/linux/man-pages/man2/readv.2.html>, <https://lwn.net/Articles/998783/>
//!
//! Linux 6.14; `EOPNOTSUPP` before, and on file systems without support. Pages that were cached
//! before stay. Writeback starts at once, and the kernel drops the written pages when it is done.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

use rustix::io::ReadWriteFlags;

use super::write::some;
use crate::error::Named;
use crate::{Call, Result};

/// `RWF_DONTCACHE` of `include/uapi/linux/fs.h`; it is newer than the constants of the crates in
/// use.
const DONT_CACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Reads at an offset without leaving pages behind; 0 is the end. May return less.
pub fn pread_uncached(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize> {
    rustix::io::preadv2(fd, &mut [IoSliceMut::new(buffer)], offset, DONT_CACHE).named(Call::Preadv2)
}

/// Writes at an offset without leaving pages behind. May write less.
pub fn pwrite_uncached(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    let answer = rustix::io::pwritev2(fd, &[IoSlice::new(bytes)], offset, DONT_CACHE);
    some(answer.named(Call::Pwritev2), bytes, Call::Pwritev2)
}
