//! Default access-control lists of directories.

use std::os::fd::BorrowedFd;

use haul_io::attributes::{DEFAULT_LIST, bits_of_list};
use haul_sys::fs::fgetxattr;

/// Returns whether files made in this directory inherit an access-control list from it.
pub(crate) fn has_default(directory: BorrowedFd<'_>) -> bool {
    fgetxattr(directory, DEFAULT_LIST).is_ok()
}

/// Returns the permission bits that the default list of this directory grants to a new file in it, which are
/// also those that the directory got from the same list of its parent. `None` if it has no such list.
pub(crate) fn default_grants(directory: BorrowedFd<'_>) -> Option<u32> {
    bits_of_list(&fgetxattr(directory, DEFAULT_LIST).ok()?)
}
