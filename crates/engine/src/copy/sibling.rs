//! A file with a hidden name beside its final place.

use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_io::hidden::make_hidden;
use haul_sys::fs::{Access, Create, OpenHow, openat};

use crate::copy::run::Run;
use crate::metadata::striping::creating;

/// Makes a file with a hidden name, and locks it. The caller sets its striping, if it is to have one of
/// its own.
pub(super) fn sibling(
    run: &Run<'_>,
    directory: BorrowedFd<'_>,
    mode: u32,
    access: Access,
    layout: Option<&[u8]>,
) -> haul_sys::Result<(OwnedFd, CString)> {
    let how = OpenHow { access, create: Create::New(mode), ..OpenHow::WRITE };
    let how = creating(how, layout);
    make_hidden(|hidden| run.creating(directory, hidden, || openat(directory, hidden, how)))
}
