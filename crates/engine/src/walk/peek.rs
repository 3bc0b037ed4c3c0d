//! Whether a directory is empty, without reading all of it.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use haul_sys::fs::{DirectoryBuffer, Follow, for_each_entry, open_directory};

/// Bytes that are enough to see: any name fits.
const PEEK_BYTES: usize = 1 << 10;

/// Looks whether nothing is in a directory, which is not followed if it is a link.
pub(crate) fn is_empty(parent: impl AsFd, name: &CStr) -> haul_sys::Result<bool> {
    let directory = open_directory(parent, name, Follow::No)?;
    let mut buffer = DirectoryBuffer::new(PEEK_BYTES);
    let mut is_empty = true;
    while for_each_entry(&directory, &mut buffer, |_| {
        is_empty = false;
        ControlFlow::Break(())
    })? && is_empty
    {}
    Ok(is_empty)
}
