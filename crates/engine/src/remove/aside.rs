//! Moving entries out of the way, in place of removing them: backups.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

/// Where an entry that is no directory goes in place of its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutAside {
    /// It is removed.
    Nowhere,
    /// It stays in its directory, under another name.
    Beside,
    Elsewhere,
}

/// Moves entries that are no directories out of the way, in place of removing them.
pub(crate) trait Aside: Sync {
    /// Returns where an entry of this name goes.
    fn of(&self, name: &CStr) -> PutAside;

    /// Moves an entry that messages show under this path.
    fn put(&self, directory: BorrowedFd<'_>, name: &CStr, shown: &[u8]) -> haul_sys::Result<()>;
}
