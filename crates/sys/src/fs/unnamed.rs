//! `openat(O_TMPFILE)`, `linkat(AT_EMPTY_PATH)` — a file without a name, and giving it one:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! What has no name leaves nothing behind when its process dies.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::error::Named;
use crate::fs::Access;
use crate::{Call, CallError, Errno, Result};

/// Makes a file for the directory's file system that has no name, with this mode less the umask.
///
/// `EOPNOTSUPP` where the file system cannot; `EISDIR` from kernels that do not know the flag.
pub fn open_unnamed(directory: impl AsFd, mode: u32, access: Access) -> Result<OwnedFd> {
    let flags = match access {
        Access::ReadWrite => OFlags::RDWR,
        Access::Read | Access::Write | Access::Path => OFlags::WRONLY,
    };
    let flags = flags | OFlags::TMPFILE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::openat(directory, c".", flags, Mode::from_raw_mode(mode)).named(Call::Openat)
}

/// Gives an open file that has no name this one. `EEXIST` when it is taken.
///
/// Naming a descriptor itself needs a privilege before Linux 6.10 (`ENOENT` without); naming its
/// entry in `/proc/self/fd` never does.
pub fn name_open(file: impl AsFd, directory: impl AsFd, name: &CStr) -> Result<()> {
    let (file, directory) = (file.as_fd(), directory.as_fd());
    match rustix::fs::linkat(file, c"", directory, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT) => {}
        answer => return answer.named(Call::Linkat),
    }
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|_| CallError::new(Call::Linkat, Errno::INVAL))?;
    rustix::fs::linkat(rustix::fs::CWD, &path, directory, name, AtFlags::SYMLINK_FOLLOW)
        .named(Call::Linkat)
}
