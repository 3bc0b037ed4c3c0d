//! A name in an open directory, and the two names of an entry: in the source and in the target.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::fs::{Follow, OpenHow, Stat, statat};

/// Opens a directory by path alone: a link may lead to it, and it need not be readable.
pub(crate) const DIRECTORY: OpenHow = OpenHow::HANDLE.following(Follow::Yes);

/// Name in an open directory.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
}

impl<'a> At<'a> {
    pub(crate) fn as_path(self) -> (BorrowedFd<'a>, &'a [u8]) {
        (self.directory, self.name.to_bytes())
    }
}

/// Name in a directory that was opened for it.
pub(crate) struct OwnedAt {
    pub(crate) directory: OwnedFd,
    pub(crate) name: CString,
}

impl OwnedAt {
    /// Describes the entry, without following a symbolic link.
    pub(crate) fn stat(&self) -> haul_sys::Result<Stat> {
        statat(&self.directory, &self.name)
    }
}

/// Source name and target name of an entry.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'a> {
    pub(crate) source: At<'a>,
    pub(crate) target: At<'a>,
}
