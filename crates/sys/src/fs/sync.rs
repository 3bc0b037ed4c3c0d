//! `fsync`, `syncfs` — wait until data is on stable storage:
//! <https://man7.org/linux/man-pages/man2/fsync.2.html>
//!
//! An error is final: Linux reports it once and marks the pages clean, so a second call that
//! succeeds proves nothing (<https://lwn.net/Articles/752063/>).

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Errno, Result};

/// Waits until data and attributes of an open file are on stable storage. Blocks.
pub fn fsync(fd: impl AsFd) -> Result<()> {
    rustix::fs::fsync(fd).named(Call::Fsync)
}

/// Waits until the names in an open directory are on stable storage. Blocks.
///
/// `EINVAL` is not an error here: a file system that cannot sync a directory has nothing to wait
/// for. The directory must be open for reading; one that is open with `O_PATH` gives `EBADF`.
pub fn fsync_names(directory: impl AsFd) -> Result<()> {
    match fsync(directory) {
        Err(error) if error.errno == Errno::INVAL => Ok(()),
        answer => answer,
    }
}

/// Waits until the data of an open file, and the metadata needed to read them, are on stable
/// storage. Blocks.
pub fn fdatasync(fd: impl AsFd) -> Result<()> {
    rustix::fs::fdatasync(fd).named(Call::Fdatasync)
}

/// Waits until everything of the file system that holds `fd` is on stable storage. Blocks.
pub fn syncfs(fd: impl AsFd) -> Result<()> {
    rustix::fs::syncfs(fd).named(Call::Syncfs)
}
