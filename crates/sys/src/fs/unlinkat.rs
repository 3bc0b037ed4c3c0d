//! `unlinkat` — removes a name or an empty directory:
//! <https://man7.org/linux/man-pages/man2/unlink.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;

use crate::error::Named;
use crate::{Call, Result};

/// Removes a name that is not a directory; `EISDIR` if it is one.
pub fn unlinkat(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::unlinkat(directory, name, AtFlags::empty()).named(Call::Unlinkat)
}

/// Removes an empty directory; `ENOTEMPTY` or `EEXIST` if something is in it, `EBUSY` for a mount
/// point.
pub fn rmdirat(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR).named(Call::Unlinkat)
}
