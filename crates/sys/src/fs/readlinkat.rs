//! `readlinkat` — reads a symbolic link: <https://man7.org/linux/man-pages/man2/readlink.2.html>

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Returns the text of a symbolic link; fails with `EINVAL` if it is not one.
///
/// If the text has changed its length between two calls, it is read again with a larger buffer.
pub fn readlinkat(directory: impl AsFd, name: &CStr) -> Result<CString> {
    rustix::fs::readlinkat(directory, name, Vec::new()).named(Call::Readlinkat)
}
