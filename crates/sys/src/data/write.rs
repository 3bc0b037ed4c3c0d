//! `write`, `pwrite` — write bytes: <https://man7.org/linux/man-pages/man2/write.2.html>

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// Writes at the file offset. May write less than requested.
#[inline]
pub fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    some(rustix::io::write(fd, bytes).named(Call::Write), bytes, Call::Write)
}

/// Writes at an offset. May write less than requested.
#[inline]
pub fn pwrite(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    some(rustix::io::pwrite(fd, bytes, offset).named(Call::Pwrite), bytes, Call::Pwrite)
}

/// Converts a write of zero bytes to `ENOSPC`: a device that accepts nothing is full (as beyond the
/// end of a tape or block device), and a caller that retried would never end.
pub(crate) fn some(answer: Result<usize>, bytes: &[u8], call: Call) -> Result<usize> {
    match answer {
        Ok(0) if !bytes.is_empty() => Err(CallError::new(call, Errno::NOSPC)),
        answer => answer,
    }
}
