//! `linkat` — gives a file another name: <https://man7.org/linux/man-pages/man2/link.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;

use crate::error::Named;
use crate::{Call, Result};

/// Whether a symbolic link is followed or meant itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The link itself.
    No,
    /// What it leads to.
    Yes,
}

/// Makes `new_name` another name of `name`.
///
/// `EXDEV` across file systems, `EMLINK` when the file has as many names as the file system
/// allows, `EPERM` where it has no hard links or `fs.protected_hardlinks` forbids it.
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
