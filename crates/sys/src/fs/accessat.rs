//! `faccessat2` — whether this process may read or write a file:
//! <https://man7.org/linux/man-pages/man2/access.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{Access, AtFlags};

use crate::error::Named;
use crate::{Call, Result};

/// Checks with the effective user and group whether `name` is writable: `EACCES` if not, `EROFS` on
/// a file system that is mounted read-only. Only for prompts: the result may be stale.
pub fn may_write_at(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)
        .named(Call::Faccessat2)
}

/// Checks with the effective user and group whether `name` is readable. Only for announcing in
/// advance what would fail: the result may be stale.
pub fn may_read_at(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::accessat(directory, name, Access::READ_OK, AtFlags::EACCESS).named(Call::Faccessat2)
}
