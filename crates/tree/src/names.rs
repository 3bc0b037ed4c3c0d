//! Names in one directory, for code that needs no walk.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use haul_sys::Result;
use haul_sys::fs::{DirectoryBuffer, Follow, RawEntry, for_each_entry, open_directory};

use crate::reader::BUFFER_BYTES;

/// Number of bytes that hold one entry with any name.
const ONE_ENTRY_BYTES: usize = 1 << 10;

/// Calls a function for each entry of an open directory except `.` and `..`, until the function
/// breaks. Blocks while it reads. The result may or may not include entries that are added or
/// removed meanwhile.
pub fn for_each_name(
    directory: impl AsFd,
    mut see: impl FnMut(RawEntry<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let mut buffer = DirectoryBuffer::new(BUFFER_BYTES);
    let mut is_over = false;
    while !is_over
        && for_each_entry(&directory, &mut buffer, |entry| {
            let flow = see(entry);
            is_over = flow.is_break();
            flow
        })?
    {}
    Ok(())
}

/// Returns whether a directory has an entry that is wanted. Reads it from its beginning up to the first one,
/// through a descriptor of its own.
pub fn has_entry(
    directory: impl AsFd,
    mut is_wanted: impl FnMut(RawEntry<'_>) -> bool,
) -> Result<bool> {
    let mut is_found = false;
    for_each_name(open_directory(directory, c".", Follow::No)?, |entry| {
        is_found = is_wanted(entry);
        if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(is_found)
}

/// Returns whether a directory is empty. A link to a directory is an error (`ENOTDIR` or `ELOOP`).
pub fn is_empty(parent: impl AsFd, name: &CStr) -> Result<bool> {
    has_no_entry(open_directory(parent, name, Follow::No)?)
}

/// Returns whether an open directory, of which nothing has been read, is empty.
pub fn has_no_entry(directory: impl AsFd) -> Result<bool> {
    let mut buffer = DirectoryBuffer::new(ONE_ENTRY_BYTES);
    let mut is_empty = true;
    while for_each_entry(&directory, &mut buffer, |_| {
        is_empty = false;
        ControlFlow::Break(())
    })? && is_empty
    {}
    Ok(is_empty)
}
