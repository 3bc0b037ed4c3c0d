//! `close` — gives a descriptor back and hears the last error:
//! <https://man7.org/linux/man-pages/man2/close.2.html>

use std::os::fd::{IntoRawFd, OwnedFd};

use crate::{Call, CallError, Errno, Result};

/// Closes a descriptor and returns the error that dropping it would lose.
///
/// NFS, FUSE and quota file systems report failed writes here. On Linux the descriptor is gone
/// whatever the answer, so it is never closed again; `EINTR` therefore counts as success, for the
/// kernel has already written back or will report through `fsync`.
pub fn close(fd: OwnedFd) -> Result<()> {
    // SAFETY: `into_raw_fd` gives up ownership, so this is the only close of the descriptor.
    let answer = unsafe { libc::close(fd.into_raw_fd()) };
    if answer == 0 {
        return Ok(());
    }
    match Errno::from_io_error(&std::io::Error::last_os_error()) {
        Some(Errno::INTR) | None => Ok(()),
        Some(errno) => Err(CallError::new(Call::Close, errno)),
    }
}
