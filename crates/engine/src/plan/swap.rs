//! Replaces a name atomically by a rename.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_io::hidden::under_hidden_name;
use haul_sys::fs::{RenameMode, renameat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use crate::names::path::split;

/// Makes an entry under a hidden name beside the target name, and then renames it to that name.
pub(crate) fn swap_in(
    directory: BorrowedFd<'_>,
    name: &CStr,
    make: impl Fn(&CStr) -> haul_sys::Result<()>,
) -> haul_sys::Result<()> {
    let (parent, _) = split(name.to_bytes());
    let mut beside = name.to_owned();
    under_hidden_name(|hidden| {
        beside = CString::new([parent, hidden.to_bytes()].concat())
            .map_err(|_| CallError::new(Call::Renameat2, Errno::INVAL))?;
        make(&beside)
    })?;
    let renamed = renameat(directory, &beside, directory, name, RenameMode::Replace);
    // If both names belong to one file, rename(2) does nothing and leaves both.
    let left = unlinkat(directory, &beside);
    match (renamed, left) {
        (Err(error), _) => Err(error),
        (Ok(()), Err(error)) if error.errno != Errno::NOENT => Err(error),
        (Ok(()), _) => Ok(()),
    }
}
