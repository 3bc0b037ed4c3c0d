//! `renameat2` — gives a file another place: <https://man7.org/linux/man-pages/man2/rename.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::RenameFlags;

use crate::error::Named;
use crate::{Call, Result, is_refused};

/// What happens to an existing file of the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// It is replaced, atomically.
    Replace,
    /// The call fails with `EEXIST`. Fails with `EINVAL` if the file system does not support it.
    NoReplace,
    /// The call exchanges the two, atomically.
    Exchange,
}

/// Renames `name` in `directory` to `new_name` in `new_directory`. `EXDEV` across file systems.
///
/// If the newer call is refused, the older one makes a plain rename.
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
    let newer = rustix::fs::renameat_with(&directory, name, &new_directory, new_name, flags);
    match newer {
        Err(errno) if flags.is_empty() && is_refused(Call::Renameat2, errno) => {
            rustix::fs::renameat(directory, name, new_directory, new_name)
        }
        answer => answer,
    }
    .named(Call::Renameat2)
}
