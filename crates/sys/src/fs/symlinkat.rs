//! `symlinkat` — makes a symbolic link: <https://man7.org/linux/man-pages/man2/symlink.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Makes `name` a symbolic link with this text. Never replaces anything.
pub fn symlinkat(text: &CStr, directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::symlinkat(text, directory, name).named(Call::Symlinkat)
}
