//! `fchmod` — sets permission bits: <https://man7.org/linux/man-pages/man2/chmod.2.html>

use std::os::fd::AsFd;

use rustix::fs::Mode;

use crate::error::Named;
use crate::{Call, Result};

/// Sets the twelve permission bits of an open file.
pub fn fchmod(fd: impl AsFd, mode: u32) -> Result<()> {
    rustix::fs::fchmod(fd, Mode::from_raw_mode(mode & 0o7777)).named(Call::Fchmod)
}
