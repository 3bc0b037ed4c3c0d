//! `lseek` on a directory — the position at which `getdents64` continues:
//! <https://man7.org/linux/man-pages/man2/lseek.2.html>
//!
//! Positions are the file system's own cookies. They hold for every open of the same directory,
//! for an NFS server relies on that (`Documentation/filesystems/nfs/exporting.rst`).

use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, seek};

use crate::error::Named;
use crate::{Call, Result};

/// Returns the position at which the next entries are read.
pub fn directory_position(directory: impl AsFd) -> Result<u64> {
    seek(directory, SeekFrom::Current(0)).named(Call::Lseek)
}

/// Sets the position in the same directory; 0 is its beginning.
pub fn seek_directory(directory: impl AsFd, position: u64) -> Result<()> {
    seek(directory, SeekFrom::Start(position)).named(Call::Lseek).map(drop)
}
