//! `linkat` — gives a file another name: <https://man7.org/linux/man-pages/man2/link.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;

use crate::error::Named;
use crate::{Call, Result};

/// Whether the call follows a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The link itself.
    No,
    /// The file that it points to.
    Yes,
}

/// Creates `new_name` as a hard link to `name`.
///
/// `EXDEV` across file systems, `EMLINK` if the file has as many names as the file system allows,
/// `EPERM` if the file system has no hard links or `fs.protected_hardlinks` forbids it.
pub fn linkat(
    directory: impl AsFd,
    name: &CStr,
    new_directory: impl AsFd,
    new_name: &CStr,
    follow: Follow,
) -> Result<()> {
    let flags = match follow {
        Follow::No => AtFlags::empty(),
        Follow::Yes => AtFlags::SYMLINK_FOLLOW,
    };
    rustix::fs::linkat(directory, name, new_directory, new_name, flags).named(Call::Linkat)
}
