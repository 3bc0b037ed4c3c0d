//! `fcntl(F_SETLEASE)` — whether somebody else has a file open:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>

use std::os::fd::{AsFd, AsRawFd};

use crate::{Call, CallError, Errno, Result};

/// Takes a write lease on an open file: it is granted only if nobody else has the file open or
/// mapped. `EAGAIN` if somebody has, `EACCES` if the file is not ours and we lack `CAP_LEASE`,
/// `EINVAL` where the file system has no leases. It goes away with the descriptor.
pub fn write_lease(fd: impl AsFd) -> Result<()> {
    // SAFETY: the call takes a descriptor, which is borrowed for its duration, and two integers.
    let answer =
        unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
    if answer == 0 {
        return Ok(());
    }
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL);
    Err(CallError::new(Call::Fcntl, errno))
}
