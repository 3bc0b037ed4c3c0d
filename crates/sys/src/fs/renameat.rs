//! `renameat2` — gives a file another place: <https://man7.org/linux/man-pages/man2/rename.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::RenameFlags;

use crate::error::Named;
use crate::{Call, Result};

/// What happens to a file that has the new name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// It is replaced, atomically.
    Replace,
    /// The call fails with `EEXIST`. `EINVAL` where the file system cannot do it.
    NoReplace,
    /// The two change places, atomically.
    Exchange,
}

/// Renames `name` in `directory` to `new_name` in `new_directory`. `EXDEV` across file systems.
pub fn renameat(
    directory: impl AsFd,
    name: &CStr,
    new_directory: impl AsFd,
    new_name: &CStr,
    mode: RenameMode,
) -> Result<()> {
    let flags = match mode {
        RenameMode::Replace => RenameFlags::empty(),
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
        RenameMode::Exchange => RenameFlags::EXCHANGE,
    };
    rustix::fs::renameat_with(directory, name, new_directory, new_name, flags)
        .named(Call::Renameat2)
}
