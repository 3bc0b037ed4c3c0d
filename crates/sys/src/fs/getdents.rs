//! `getdents64` — reads the entries of a directory:
//! <https://man7.org/linux/man-pages/man2/getdents.2.html>
//!
//! The caller owns the buffer and reuses one large buffer for a whole run.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use rustix::fs::{FileType, RawDir};

use crate::error::Named;
use crate::fs::Kind;
use crate::{Call, Result};

/// A buffer for directory entries.
pub struct DirectoryBuffer(Vec<MaybeUninit<u8>>);

impl DirectoryBuffer {
    /// Allocates a buffer; the C library uses 32 KiB.
    #[must_use]
    pub fn new(bytes: usize) -> DirectoryBuffer {
        DirectoryBuffer(vec![MaybeUninit::uninit(); bytes])
    }
}

/// One entry as the kernel returns it.
#[derive(Clone, Copy, Debug)]
pub struct RawEntry<'a> {
    /// The name, without any directory.
    pub name: &'a CStr,
    /// The kind, if the file system returns it with the name.
    pub kind: Option<Kind>,
    /// The inode number as the directory has it; 0 or another file system's on mount points and
    /// some FUSE file systems, so it is suitable only for ordering.
    pub ino: u64,
}

/// Makes one `getdents64` call and passes each entry but `.` and `..` to `visit`.
///
/// Returns `false` at the end of the directory. The next call returns entries that do not fit the
/// buffer. A visitor that stops early loses the rest of the buffer, so it should stop only on an
/// error.
pub fn for_each_entry(
    directory: impl AsFd,
    buffer: &mut DirectoryBuffer,
    mut visit: impl FnMut(RawEntry<'_>) -> ControlFlow<()>,
) -> Result<bool> {
    let mut raw = RawDir::new(directory, &mut buffer.0);
    let mut any = false;
    loop {
        if any && raw.is_buffer_empty() {
            return Ok(true);
        }
        let Some(entry) = raw.next() else { return Ok(false) };
        let entry = entry.named(Call::Getdents)?;
        any = true;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let raw_entry = RawEntry { name, kind: kind(entry.file_type()), ino: entry.ino() };
        if visit(raw_entry).is_break() {
            return Ok(true);
        }
    }
}

fn kind(file_type: FileType) -> Option<Kind> {
    Some(match file_type {
        FileType::RegularFile => Kind::Regular,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::Unknown => return None,
    })
}
