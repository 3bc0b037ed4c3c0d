//! `sync_file_range` — starts the writeback of a range, or waits for it:
//! <https://man7.org/linux/man-pages/man2/sync_file_range.2.html>
//!
//! Makes nothing durable: it flushes neither file sizes nor the device's own cache. It limits the
//! number of dirty pages, and cleans them so that they can be dropped.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::error::Named as _;
use crate::{Call, CallError, Errno, Result, is_refused};

/// What to do with the range's dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writeback {
    /// Starts to write them, and returns.
    Start,
    /// Writes them and waits until all are written.
    Complete,
}

/// Writes the dirty pages of a range back; a length of 0 means up to the end.
///
/// If the kernel or a system call filter refuses it (`ENOSYS`, `EPERM`), [`Writeback::Complete`]
/// writes the whole file with fdatasync(2).
pub fn write_back(fd: impl AsFd, offset: u64, bytes: u64, how: Writeback) -> Result<()> {
    match sync_file_range(fd.as_fd(), offset, bytes, how) {
        Err(error) if how == Writeback::Complete && is_refused(error.call, error.errno) => {
            rustix::fs::fdatasync(fd).named(Call::Fdatasync)
        }
        answer => answer,
    }
}

fn sync_file_range(fd: BorrowedFd<'_>, offset: u64, bytes: u64, how: Writeback) -> Result<()> {
    let flags = match how {
        Writeback::Start => libc::SYNC_FILE_RANGE_WRITE,
        Writeback::Complete => {
            libc::SYNC_FILE_RANGE_WAIT_BEFORE
                | libc::SYNC_FILE_RANGE_WRITE
                | libc::SYNC_FILE_RANGE_WAIT_AFTER
        }
    };
    let too_large = |_| CallError::new(Call::SyncFileRange, Errno::INVAL);
    let offset = libc::off64_t::try_from(offset).map_err(too_large)?;
    let bytes = libc::off64_t::try_from(bytes).map_err(too_large)?;
    // SAFETY: the call takes numbers only, and the descriptor is borrowed until it returns.
    let answer = unsafe { libc::sync_file_range(fd.as_raw_fd(), offset, bytes, flags) };
    if answer == 0 {
        return Ok(());
    }
    let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
    Err(CallError::new(Call::SyncFileRange, errno))
}
