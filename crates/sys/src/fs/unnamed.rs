//! `openat(O_TMPFILE)`, `linkat(AT_EMPTY_PATH)` — creates a file without a name, and names it:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! The kernel frees an unnamed file when its process dies.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::error::Named;
use crate::fs::Access;
use crate::sync::Answer;
use crate::{Call, CallError, Errno, Result, is_refused};

/// Creates an unnamed file in the directory's file system, with this mode less the umask.
///
/// Fails with `EOPNOTSUPP` if the file system does not support it, or if no file can be given a name
/// because `linkat` is refused, and with `EISDIR` on kernels that do not know the flag.
pub fn open_unnamed(directory: impl AsFd, mode: u32, access: Access) -> Result<OwnedFd> {
    if !can_link() {
        return Err(CallError::new(Call::Openat, Errno::OPNOTSUPP));
    }
    let flags = match access {
        Access::ReadWrite => OFlags::RDWR,
        Access::Read | Access::Write | Access::Path => OFlags::WRONLY,
    };
    let flags = flags | OFlags::TMPFILE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::openat(directory, c".", flags, Mode::from_raw_mode(mode)).named(Call::Openat)
}

/// Returns whether the process may call `linkat`, which a filter of system calls may refuse. Asks once: a
/// process cannot leave its filters.
fn can_link() -> bool {
    static ANSWER: Answer = Answer::unknown();
    ANSWER.get_or_find(|| {
        // An empty name is ENOENT, whatever the file system.
        let probe = rustix::fs::linkat(CWD, c"", CWD, c"", AtFlags::empty());
        !probe.is_err_and(|errno| is_refused(Call::Linkat, errno))
    })
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
