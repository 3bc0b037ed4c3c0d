//! `fchmod`, `fchmodat` — set permission bits: <https://man7.org/linux/man-pages/man2/chmod.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Mode};

use crate::error::Named;
use crate::{Call, Result};

/// Sets the twelve permission bits of an open file.
pub fn fchmod(fd: impl AsFd, mode: u32) -> Result<()> {
    rustix::fs::fchmod(fd, Mode::from_raw_mode(mode & 0o7777)).named(Call::Fchmod)
}

/// Sets the twelve permission bits of a name that must not be a symbolic link.
///
/// For files that cannot be opened without side effects (FIFOs, sockets, devices): an `O_PATH`
/// descriptor pins the inode, and the bits are set through its entry in `/proc/self/fd`, the way
/// the C library does it before `fchmodat2` (Linux 6.6). Where `/proc` is missing the plain
/// `fchmodat` is used, on a name that was just seen not to be a link.
pub fn chmodat(directory: impl AsFd, name: &CStr, mode: u32) -> Result<()> {
    rustix::fs::chmodat(directory, name, Mode::from_raw_mode(mode & 0o7777), AtFlags::empty())
        .named(Call::Fchmodat)
}
