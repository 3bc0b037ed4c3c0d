//! Files that a killed run was about to remove: it had given them a hidden name for a last look.
//!
//! The same command does not find them again, so each command that removes files says where they are.

use std::ffi::CStr;
use std::os::fd::AsFd;

use haul_io::last_check::left_of;
use haul_sys::fs::split_at_last_slash;

use crate::escape::quote;

/// Returns what a person has to know about a path that has a hidden name now.
pub(crate) fn words(path: &[u8], hidden: &[u8]) -> String {
    format!(
        "{} has the name {} since a run that removed it was killed; 'haul clean' gives it its own name back",
        quote(path),
        quote(hidden)
    )
}

/// Returns a line for each hidden name of a file that does not exist, which messages call `shown`.
pub(crate) fn hints(directory: impl AsFd, name: &CStr, shown: &[u8]) -> Vec<String> {
    let (above, _) = split_at_last_slash(shown);
    // What cannot be read has been reported as a file that is not there.
    let left = left_of(directory, name).unwrap_or_default();
    left.iter().map(|hidden| words(shown, &[above, hidden.to_bytes()].concat())).collect()
}
