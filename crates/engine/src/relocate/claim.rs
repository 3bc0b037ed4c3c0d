//! Taking a directory's waiting name for one run alone.
//!
//! A rerun of the same command computes the same waiting name, so that it goes on with what an
//! interrupted run has copied. So it has to know whether that run is interrupted, or still at work.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{Follow, fstat, mkdirat, open_directory, statat, try_lock};

/// Directories that wait at once: each holds a descriptor for its lock. A command with more of them is
/// copied in several batches, between which hard links are not kept.
pub(super) const CLAIMED_DIRECTORIES: u64 = 128;

/// What came of it.
pub(super) enum Claimed {
    /// The directory was made, and is locked as long as the descriptor is open.
    New(OwnedFd),
    /// It was there, and no run is at work with it; locked likewise.
    Found(OwnedFd),
    /// Another run is at work with it.
    InUse,
}

/// Makes a directory under a waiting name, or takes the one that is there. Does not wait.
///
/// # Errors
///
/// If the directory can be neither made nor opened: `ENOTDIR` or `ELOOP` where the name is something else.
pub(super) fn claim(directory: BorrowedFd<'_>, waiting: &CStr) -> haul_sys::Result<Claimed> {
    let is_new = match mkdirat(directory, waiting, 0o700) {
        Ok(()) => true,
        Err(error) if error.errno == Errno::EXIST => false,
        Err(error) => return Err(error),
    };
    let fd = open_directory(directory, waiting, Follow::No)?;
    // Some file systems lock no directories (NFS: EBADF), and there it is as if no other run were there.
    if !try_lock(&fd).unwrap_or(true) {
        return Ok(Claimed::InUse);
    }
    // The run that had the lock may have given the directory its name, or removed it.
    let claimed = fstat(&fd)?;
    if !statat(directory, waiting).is_ok_and(|now| now.same_file(&claimed)) {
        return Ok(Claimed::InUse);
    }
    Ok(if is_new { Claimed::New(fd) } else { Claimed::Found(fd) })
}
