//! `openat2` — opens a path below a directory without following any symbolic link:
//! <https://man7.org/linux/man-pages/man2/openat2.2.html>

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::error::Named;
use crate::{Call, Result};

/// Opens the same, but a component may be a symbolic link that leads to a place below `directory`:
/// `EXDEV` if a link leads out or is absolute.
pub fn open_beneath_through_links(directory: impl AsFd, path: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve).named(Call::Openat2)
}

/// Opens the directory that a path of several components leads to from `directory`, as a handle
/// (`O_PATH`): `ELOOP` if a component is a symbolic link, `EXDEV` if the path leads out. A filter of system
/// calls may not know `openat2` (Linux 5.6), see [`is_refused`](crate::is_refused).
pub fn open_beneath(directory: impl AsFd, path: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve).named(Call::Openat2)
}
