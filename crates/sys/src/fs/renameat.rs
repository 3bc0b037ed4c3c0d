//! `renameat2` — gives a file another place: <https://man7.org/linux/man-pages/man2/rename.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::RenameFlags;

use crate::error::Named;
use crate::{Call, Errno, Result};

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

/// Returns whether a rename without replacement may have failed because of that flag: the file
/// system does not support it (`EINVAL`), or the call is unknown or filtered. A plain rename then
/// shows whether there was another cause.
#[must_use]
pub fn is_refusal_of_mode(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM)
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
        Err(Errno::NOSYS | Errno::PERM) if flags.is_empty() => {
            rustix::fs::renameat(directory, name, new_directory, new_name)
        }
        answer => answer,
    }
    .named(Call::Renameat2)
}
