//! `ftruncate` — sets a file's size: <https://man7.org/linux/man-pages/man2/truncate.2.html>

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Sets the size of an open file in bytes; an extension reads as zeros.
pub fn ftruncate(fd: impl AsFd, bytes: u64) -> Result<()> {
    rustix::fs::ftruncate(fd, bytes).named(Call::Ftruncate)
}
