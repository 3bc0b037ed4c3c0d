//! Parts of a comparison that another process can take, and what a comparison asks of its caller.

use std::ffi::CStr;
use std::ops::{ControlFlow, Range};
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::Finding;
use crate::text::RawText;

/// Part of a comparison, in a pair of directories that have the same path below both roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Path of the directories; empty for the roots.
    pub path: RawText,
    /// Inode numbers of the directories in A and in B; the process that takes the unit verifies them.
    pub inodes: (u64, u64),
    /// What is compared there.
    pub work: Work,
}

/// What is compared in a pair of directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The roots themselves, with everything below them. The path and the inode numbers do not count.
    Roots,
    /// Everything below a directory that both have.
    Directory(RawText),
    /// All names from the first one on, up to the second one, and everything below them.
    Range(RawText, Option<RawText>),
    /// Entries of one inode in A that have further names, which one process compares.
    Names(Vec<RawText>),
    /// Entries of one inode in B that have further names, which were compared; and whether their links
    /// were found to differ.
    Links(Vec<(RawText, bool)>),
}

impl Unit {
    /// Creates the unit of a whole comparison.
    #[must_use]
    pub fn roots() -> Unit {
        Unit { path: RawText::default(), inodes: (0, 0), work: Work::Roots }
    }
}

/// The caller of a comparison, and the other processes that take part in it.
pub trait Outside {
    /// Receives a finding; may end the comparison.
    fn report(&mut self, finding: Finding) -> ControlFlow<()>;

    /// Called before the entries of two directories are compared, with their path below the roots and the
    /// directory in A. After a failure, nothing in them is compared.
    fn enters(&mut self, _path: &[u8], _a: BorrowedFd<'_>) -> Result<(), Errno> {
        Ok(())
    }

    /// Returns whether an entry of the directories that were entered last is compared. A directory is given
    /// if the entry is in it.
    fn selects(
        &mut self,
        _name: &CStr,
        _a: Option<BorrowedFd<'_>>,
        _b: Option<BorrowedFd<'_>>,
    ) -> bool {
        true
    }

    /// Returns what looks after the pages of the files that are read.
    fn page_cache(&mut self) -> Option<&mut dyn PageCache> {
        None
    }

    /// Returns the number of the project that an open file or directory counts for, 0 if there is none. The call
    /// that tells it needs unsafe code, which this crate does not have.
    fn project(&mut self, _file: BorrowedFd<'_>) -> u32 {
        0
    }

    /// Returns whether several processes take part.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns whether another process could use a unit now.
    fn is_wanted(&self) -> bool {
        false
    }

    /// Gives a unit to any other process.
    fn give(&mut self, _unit: Unit) {}

    /// Returns the process that meets all names of an inode, if it is another one.
    fn owner(&self, _ino: u64) -> Option<usize> {
        None
    }

    /// Gives a unit to a certain process.
    fn send(&mut self, _to: usize, _unit: Unit) {}
}

/// What becomes of the pages of the files that a comparison reads: the caller's business, because this
/// crate shares no code with those that move data.
pub trait PageCache {
    /// Two files were opened, and no byte of them was read.
    fn begin(&mut self, files: [BorrowedFd<'_>; 2]);

    /// A range of both was read, in order; a file may have ended in it. May end the comparison, so that the caller need not
    /// wait for the end of a large file.
    fn has_read(&mut self, files: [BorrowedFd<'_>; 2], range: Range<u64>) -> ControlFlow<()>;

    /// No more of them will be read.
    fn end(&mut self, files: [BorrowedFd<'_>; 2]);
}

/// Leaves the page cache to the kernel.
pub(super) struct Kernel;

impl PageCache for Kernel {
    fn begin(&mut self, _files: [BorrowedFd<'_>; 2]) {}

    fn has_read(&mut self, _files: [BorrowedFd<'_>; 2], _range: Range<u64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn end(&mut self, _files: [BorrowedFd<'_>; 2]) {}
}

/// A caller that only receives findings.
pub(super) struct Alone<'a>(pub(super) &'a mut dyn FnMut(Finding) -> ControlFlow<()>);

impl Outside for Alone<'_> {
    fn report(&mut self, finding: Finding) -> ControlFlow<()> {
        (self.0)(finding)
    }
}
