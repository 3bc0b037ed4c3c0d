//! The sorted names of one directory.
//!
//! Two directories are compared by merging their sorted names, so all names of one directory are
//! in memory at once, and only those. They live in one buffer, end to end and each with its NUL:
//! a directory of a million entries costs its names and 8 bytes for each.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::RawDir;
use rustix::io::Errno;

/// Buffer size of one getdents64(2): large enough for thousands of names, small enough for the
/// second-level cache.
const LIST_BUFFER_BYTES: usize = 256 * 1024;

/// Sorted names, each terminated by NUL.
#[derive(Default)]
pub(crate) struct Names {
    arena: Vec<u8>,
    starts: Vec<usize>,
}

impl Names {
    /// Lists a directory that was just opened; omits `.` and `..`.
    ///
    /// On an error, returns the names listed before it together with the error, so that they can
    /// still be compared.
    pub(crate) fn list(dir: BorrowedFd<'_>, buffer: &mut ListBuffer) -> (Self, Option<Errno>) {
        let mut names = Self::default();
        let mut entries = RawDir::new(dir, &mut buffer.0[..]);
        let error = loop {
            match entries.next() {
                None => break None,
                Some(Ok(entry)) => {
                    let name = entry.file_name();
                    if name != c"." && name != c".." {
                        names.push(name);
                    }
                }
                Some(Err(Errno::INTR)) => {}
                Some(Err(errno)) => break Some(errno),
            }
        };
        let arena = &names.arena;
        names.starts.sort_unstable_by(|a, b| name_at(arena, *a).cmp(name_at(arena, *b)));
        (names, error)
    }

    pub(crate) fn push(&mut self, name: &CStr) {
        self.starts.push(self.arena.len());
        self.arena.extend_from_slice(name.to_bytes_with_nul());
    }

    pub(crate) fn get(&self, index: usize) -> Option<&CStr> {
        self.starts.get(index).map(|start| name_at(&self.arena, *start))
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the number of names for which a condition holds that holds for the first ones only.
    pub(crate) fn partition_point(&self, is_before: impl Fn(&CStr) -> bool) -> usize {
        self.starts.partition_point(|start| is_before(name_at(&self.arena, *start)))
    }

    /// Removes the last name.
    pub(crate) fn pop(&mut self) -> Option<&CStr> {
        let start = self.starts.pop()?;
        Some(name_at(&self.arena, start))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CStr> {
        self.starts.iter().map(|start| name_at(&self.arena, *start))
    }
}

fn name_at(arena: &[u8], start: usize) -> &CStr {
    // Every start is the beginning of a name that `push` terminated with NUL.
    arena.get(start..).and_then(|rest| CStr::from_bytes_until_nul(rest).ok()).unwrap_or(c"")
}

/// The buffer for directory listings, reused for each directory.
pub(crate) struct ListBuffer(Vec<MaybeUninit<u8>>);

impl ListBuffer {
    pub(crate) fn new() -> Self {
        Self(vec![MaybeUninit::uninit(); LIST_BUFFER_BYTES])
    }
}
