//! One file's bytes to be moved: everything that moving them needs to know.

use std::os::fd::BorrowedFd;

use haul_sys::fs::{Kind, Stat, fstat};

use crate::ladder::DataError;
use crate::residency::{Asked, Cached, cached_bytes};
use crate::witness::Witness;
use crate::{DataPolicy, Pair};

/// Everything about one file that moving its bytes needs.
#[derive(Clone, Copy)]
pub struct FileJob<'a> {
    /// Where the bytes come from.
    pub source: BorrowedFd<'a>,
    /// Where they go: empty, and open for writing.
    pub target: BorrowedFd<'a>,
    /// What the source was when it was opened.
    pub stat: &'a Stat,
    /// What kind of file the target is.
    pub target_kind: Kind,
    /// The two file systems.
    pub pair: &'a Pair,
    /// The run's policy.
    pub policy: &'a DataPolicy,
    /// Who is to see the bytes, if anybody.
    pub witness: Option<&'a Witness>,
}

impl<'a> FileJob<'a> {
    pub(crate) fn source_pages(&self) -> Asked<'a> {
        Asked { fd: self.source, quirk: self.pair.source }
    }

    pub(crate) fn target_pages(&self) -> Asked<'a> {
        Asked { fd: self.target, quirk: self.pair.target }
    }

    /// Returns what is cached of both files now.
    pub(crate) fn cached(&self) -> Cached {
        Cached {
            source: cached_bytes(self.source_pages(), 0, self.stat.size),
            target: cached_bytes(self.target_pages(), 0, self.stat.size),
        }
    }

    /// Tells whether the source is no longer what it was when it was opened.
    pub(crate) fn has_changed(&self) -> Result<bool, DataError> {
        let now = fstat(self.source)?;
        let was = self.stat;
        Ok(now.size != was.size || now.mtime != was.mtime || now.ctime != was.ctime)
    }
}
