//! `faccessat2` — whether we may read or write a file:
//! <https://man7.org/linux/man-pages/man2/access.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{Access, AtFlags};

use crate::error::Named;
use crate::{Call, Result};

/// Asks with our effective user and group whether `name` may be written to: `EACCES` if not,
/// `EROFS` on a file system that is mounted read-only. Only good for asking a person beforehand.
pub fn may_write_at(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS)
        .named(Call::Faccessat2)
}

/// Asks with our effective user and group whether `name` may be read. Only good for saying
/// beforehand what would fail.
pub fn may_read_at(directory: impl AsFd, name: &CStr) -> Result<()> {
    rustix::fs::accessat(directory, name, Access::READ_OK, AtFlags::EACCESS).named(Call::Faccessat2)
}
