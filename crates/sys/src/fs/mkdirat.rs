//! `mkdirat` — makes a directory: <https://man7.org/linux/man-pages/man2/mkdir.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::Mode;

use crate::error::Named;
use crate::{Call, Result};

/// Creates a directory with this mode less the umask.
pub fn mkdirat(directory: impl AsFd, name: &CStr, mode: u32) -> Result<()> {
    rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(mode & 0o7777)).named(Call::Mkdirat)
}
