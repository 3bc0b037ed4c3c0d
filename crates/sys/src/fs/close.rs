//! `close` — closes a descriptor and returns the last error:
//! <https://man7.org/linux/man-pages/man2/close.2.html>

use std::os::fd::{IntoRawFd, OwnedFd};

use crate::{Call, CallError, Errno, Result};

/// Closes a descriptor and returns the error that dropping it would lose.
///
/// NFS, FUSE and quota file systems report failed writes here. Linux closes the descriptor whatever
/// the result, so it is never closed again; `EINTR` therefore counts as success, because the kernel
/// has already written back or will report through `fsync`.
pub fn close(fd: OwnedFd) -> Result<()> {
    // SAFETY: `into_raw_fd` releases ownership, so this is the only close of the descriptor.
    let answer = unsafe { libc::close(fd.into_raw_fd()) };
    if answer == 0 {
        return Ok(());
    }
    match Errno::from_io_error(&std::io::Error::last_os_error()) {
        Some(Errno::INTR) | None => Ok(()),
        Some(errno) => Err(CallError::new(Call::Close, errno)),
    }
}
