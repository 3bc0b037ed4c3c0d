//! `write`, `pwrite` — write bytes: <https://man7.org/linux/man-pages/man2/write.2.html>

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Writes at the descriptor's position. May write less than given.
#[inline]
pub fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize> {
    rustix::io::write(fd, bytes).named(Call::Write)
}

/// Writes at an offset. May write less than given.
#[inline]
pub fn pwrite(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    rustix::io::pwrite(fd, bytes, offset).named(Call::Pwrite)
}
