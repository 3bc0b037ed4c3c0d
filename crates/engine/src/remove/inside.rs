//! Looks into a directory, for the question that a person is asked.

use std::ffi::CStr;
use std::os::fd::AsFd;

use haul_tree::is_empty;

use super::prompt::Inside;

/// Looks whether there is anything in a directory.
pub(super) fn inside(parent: impl AsFd, name: &CStr) -> Inside {
    match is_empty(parent, name) {
        Ok(true) => Inside::Empty,
        Ok(false) => Inside::Full,
        Err(error) => Inside::Closed(error.errno),
    }
}
