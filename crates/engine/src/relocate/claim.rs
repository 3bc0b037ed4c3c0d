//! Claims a directory's waiting name for a single run.
//!
//! A rerun of the same command computes the same waiting name, so that it resumes the copy of an
//! interrupted run. It must therefore find out whether the earlier run has ended or is still
//! active.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{Follow, fstat, mkdirat, open_directory, statat, try_lock};

/// Maximum number of directories that wait at once: each holds a descriptor for its lock. A
/// command with more directories copies them in several batches.
pub(super) const CLAIMED_DIRECTORIES: u64 = 128;

/// Result of a claim.
pub(super) enum Claimed {
    /// The directory was created. It stays locked while the descriptor is open.
    New(OwnedFd),
    /// The directory existed and no run uses it. It stays locked while the descriptor is open.
    Found(OwnedFd),
    /// Another run uses the directory.
    InUse,
}

/// State of a waiting name before the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StaleCopy {
    None,
    /// The verified part of an interrupted run's copy.
    Adopted,
    /// An entry of another user, or one that cannot be removed.
    InTheWay,
}

/// Creates a directory under a waiting name, or claims the existing one. Does not block.
///
/// # Errors
///
/// Fails if the directory can be neither created nor opened: `ENOTDIR` or `ELOOP` if the name
/// belongs to another kind of entry.
pub(super) fn claim(directory: BorrowedFd<'_>, waiting: &CStr) -> haul_sys::Result<Claimed> {
    let is_new = match mkdirat(directory, waiting, 0o700) {
        Ok(()) => true,
        Err(error) if error.errno == Errno::EXIST => false,
        Err(error) => return Err(error),
    };
    let fd = open_directory(directory, waiting, Follow::No)?;
    let claimed = fstat(&fd)?;
    // Some file systems cannot lock directories (NFS: EBADF). There, claim() assumes that no other
    // run is active.
    if !try_lock(&fd).unwrap_or(true) {
        return Ok(Claimed::InUse);
    }
    // The run that held the lock may have renamed the directory to its final name, or removed it.
    if !statat(directory, waiting).is_ok_and(|now| now.same_file(&claimed)) {
        return Ok(Claimed::InUse);
    }
    Ok(if is_new { Claimed::New(fd) } else { Claimed::Found(fd) })
}
