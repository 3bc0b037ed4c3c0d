//! `read`, `pread` — read bytes: <https://man7.org/linux/man-pages/man2/read.2.html>

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Reads at the file offset; 0 is the end. May return less than requested.
#[inline]
pub fn read(fd: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    rustix::io::read(fd, buffer).named(Call::Read)
}

/// Reads at an offset; 0 is the end. May return less than requested.
#[inline]
pub fn pread(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize> {
    rustix::io::pread(fd, buffer, offset).named(Call::Pread)
}
