//! `openat(O_TMPFILE)`, `linkat(AT_EMPTY_PATH)` — creates a file without a name, and names it:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! The kernel frees an unnamed file when its process dies.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::error::Named;
use crate::fs::Access;
use crate::{Call, CallError, Errno, Result};

/// Creates an unnamed file in the directory's file system, with this mode less the umask.
///
/// Fails with `EOPNOTSUPP` if the file system does not support it, and with `EISDIR` on kernels
/// that do not know the flag.
pub fn open_unnamed(directory: impl AsFd, mode: u32, access: Access) -> Result<OwnedFd> {
    let flags = match access {
        Access::ReadWrite => OFlags::RDWR,
        Access::Read | Access::Write | Access::Path => OFlags::WRONLY,
    };
    let flags = flags | OFlags::TMPFILE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::openat(directory, c".", flags, Mode::from_raw_mode(mode)).named(Call::Openat)
}

/// Gives an unnamed open file this name. Fails with `EEXIST` if the name exists.
///
/// Naming a descriptor itself needs a privilege before Linux 6.10 (`ENOENT` without); linking its
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
