//! `readlinkat` — reads a symbolic link: <https://man7.org/linux/man-pages/man2/readlink.2.html>

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Returns the text of a symbolic link; `EINVAL` when it is none.
///
/// The text is read again with a larger buffer when it changed its length meanwhile.
pub fn readlinkat(directory: impl AsFd, name: &CStr) -> Result<CString> {
    rustix::fs::readlinkat(directory, name, Vec::new()).named(Call::Readlinkat)
}
