//! `fsync`, `syncfs` — wait until data is on stable storage:
//! <https://man7.org/linux/man-pages/man2/fsync.2.html>
//!
//! An error is final: Linux forgets it once it was told and marks the pages clean, so a second
//! call that succeeds proves nothing (<https://lwn.net/Articles/752063/>).

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Waits until data and attributes of an open file are on stable storage. Blocks.
pub fn fsync(fd: impl AsFd) -> Result<()> {
    rustix::fs::fsync(fd).named(Call::Fsync)
}

/// Waits until data of an open file, and what is needed to read them, are on stable storage. Blocks.
pub fn fdatasync(fd: impl AsFd) -> Result<()> {
    rustix::fs::fdatasync(fd).named(Call::Fdatasync)
}

/// Waits until everything of the file system that holds `fd` is on stable storage. Blocks.
pub fn syncfs(fd: impl AsFd) -> Result<()> {
    rustix::fs::syncfs(fd).named(Call::Syncfs)
}
