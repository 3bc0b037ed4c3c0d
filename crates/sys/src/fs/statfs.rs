//! `fstatfs` — what file system a file is on: <https://man7.org/linux/man-pages/man2/statfs.2.html>

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Result of `statfs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The magic number, `f_type`, truncated to 32 bits, which suffice for all of them.
    pub magic: u32,
    /// The block size in bytes.
    pub block_bytes: u64,
    /// Bytes that an ordinary user may still allocate.
    pub available_bytes: u64,
    /// Inodes that are still free; 0 of 0 where the file system makes them as needed.
    pub free_inodes: u64,
    /// All inodes, free or not; 0 where the file system makes them as needed.
    pub inodes: u64,
    /// The length of the longest name in bytes; 0 if it is unknown.
    pub name_bytes_max: usize,
    /// Whether the file system, or its mount, is read-only. An error can make it so while it is mounted.
    pub is_read_only: bool,
}

/// Returns information on the file system that holds an open file.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the fields' types differ between architectures; magic numbers are 32 bits"
)]
pub fn fstatfs(fd: impl AsFd) -> Result<FileSystem> {
    let raw = rustix::fs::fstatfs(fd).named(Call::Fstatfs)?;
    let block_bytes = raw.f_bsize as u64;
    Ok(FileSystem {
        magic: raw.f_type as u32,
        block_bytes,
        available_bytes: (raw.f_bavail as u64).saturating_mul(block_bytes),
        free_inodes: raw.f_ffree as u64,
        inodes: raw.f_files as u64,
        name_bytes_max: raw.f_namelen as usize,
        is_read_only: raw.f_flags as u64 & libc::ST_RDONLY != 0,
    })
}

/// Returns the `f_fsid` of the file system that holds an open file: a number made from its UUID, or a device
/// number, which takes the lower 32 bits, or 0.
pub fn file_system_id(fd: impl AsFd) -> Result<u64> {
    // rustix shows the number only in this form of the same call.
    Ok(rustix::fs::fstatvfs(fd).named(Call::Fstatfs)?.f_fsid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, Follow, open_directory};

    #[test]
    fn a_file_system_of_the_kernel_has_its_device_number_or_none() {
        let proc = open_directory(CWD, c"/proc", Follow::Yes).unwrap();
        let dev = crate::fs::fstat(&proc).unwrap().dev;
        assert!([0, dev].contains(&file_system_id(&proc).unwrap()));
    }
}
