//! Journals of other runs: one that has the same operands and another option was most likely meant to
//! be resumed. To begin anew beside it, without a word, would do the work again and leave its files.

use std::ffi::CString;
use std::ops::ControlFlow;

use haul_io::hidden::is_hidden_name;
use haul_sys::fs::{DirectoryBuffer, Kind, OpenHow, for_each_entry, openat, statat, try_lock};

use super::beginning::{OTHERS_WRITE, read_header};
use super::header::{self, Relation};
use super::write::Spot;
use crate::error::Differences;
use crate::walk::path::{join, split};

/// Bytes of names that are read at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// Finds a journal of the same operands in a directory; returns its path, and what differs.
///
/// What cannot be read is passed over: it is nothing that could be resumed.
pub(super) fn find(spot: &Spot, run: &[u8]) -> Option<(Vec<u8>, Differences)> {
    let mut hidden = Vec::new();
    let mut buffer = DirectoryBuffer::new(BUFFER_BYTES);
    let mut note = |name: &std::ffi::CStr| {
        if is_hidden_name(name.to_bytes()) && name != spot.name.as_c_str() {
            hidden.push(name.to_owned());
        }
    };
    let mut more = true;
    while more {
        more = for_each_entry(&spot.directory, &mut buffer, |entry| {
            note(entry.name);
            ControlFlow::Continue(())
        })
        .unwrap_or(false);
    }
    hidden.into_iter().find_map(|name| {
        let differences = compare(spot, &name, run)?;
        let (parent, _) = split(&spot.shown);
        Some((join(&[parent, name.to_bytes()]), differences))
    })
}

/// Holds a hidden file against this run; `None` if it is no journal of ours with these operands, or
/// in use.
fn compare(spot: &Spot, name: &CString, run: &[u8]) -> Option<Differences> {
    let seen = statat(&spot.directory, name).ok()?;
    let is_ours = seen.kind() == Kind::Regular
        && seen.uid == haul_sys::process::identity().uid
        && seen.nlink == 1
        && seen.mode & OTHERS_WRITE == 0;
    if !is_ours {
        return None;
    }
    let fd = openat(&spot.directory, name, OpenHow::READ).ok()?;
    if !try_lock(&fd).ok()? {
        return None;
    }
    let header = read_header(&fd).ok()?;
    match header::compare(&header.run, run) {
        Relation::SameOperands(differences) => Some(differences),
        Relation::Other => None,
    }
}
