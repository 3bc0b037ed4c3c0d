//! Looks for entries in a directory, for the question to the user.

use std::ffi::CStr;
use std::os::fd::AsFd;

use haul_tree::is_empty;

use super::prompt::Inside;

/// Returns whether a directory has entries.
pub(super) fn inside(parent: impl AsFd, name: &CStr) -> Inside {
    match is_empty(parent, name) {
        Ok(true) => Inside::Empty,
        Ok(false) => Inside::Full,
        Err(error) => Inside::Closed(error.errno),
    }
}
