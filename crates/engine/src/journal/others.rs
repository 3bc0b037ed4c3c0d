//! Finds journals of other runs: the user most likely wants to resume a run with the same operands
//! and another option. Starting a new run beside it without a message would repeat its work and
//! leave its files behind. A journal of a complete run has no unfinished files, and after this run
//! its records describe nothing that exists, so it is removed.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;

use haul_io::hidden::is_hidden_name;
use haul_sys::fs::{Kind, OpenHow, openat, statat, try_lock_shared};

use super::beginning::{OTHERS_WRITE, is_of_complete_run, read_header};
use super::header::{self, Relation};
use super::own_file::{Purpose, open_own, unlink_own};
use super::volumes;
use super::write::Spot;
use crate::data::error::Differences;
use crate::names::path::{join, split};

/// Finds a journal of an incomplete run with the same operands in a directory; returns its path, and
/// the differences. Removes journals of complete runs with the same operands.
///
/// Skips a file that cannot be read, because the run could not resume from it.
pub(super) fn find(spot: &Spot, run: &[u8]) -> Option<(Vec<u8>, Differences)> {
    let mut hidden = Vec::new();
    // What was read until an error is enough: the search only improves a message.
    let _read = haul_tree::for_each_name(&spot.directory, |entry| {
        let name = entry.name;
        if is_hidden_name(name.to_bytes()) && name != spot.name.as_c_str() {
            hidden.push(name.to_owned());
        }
        ControlFlow::Continue(())
    });
    hidden.into_iter().find_map(|name| {
        let differences = compare(spot, &name, run)?;
        let (parent, _) = split(&spot.shown);
        Some((join(&[parent, name.to_bytes()]), differences))
    })
}

/// Compares a hidden file with this run. Returns `None` if the file is not a journal of this user
/// with these operands, or is in use. Locks no other file, so that a run that
/// opens its journal meanwhile does not find it in use.
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
    let header = read_header(&fd).ok()?;
    match header::compare(&header.run, run) {
        Relation::SameOperands(_) if is_of_complete_run(&fd, &header) => {
            remove_complete(spot, name);
            None
        }
        Relation::SameOperands(differences) => try_lock_shared(&fd).ok()?.then_some(differences),
        Relation::Other => None,
    }
}

/// Removes the journal of a complete run, with its volumes, if no run has taken it up meanwhile.
fn remove_complete(spot: &Spot, name: &CStr) {
    let directory = spot.directory.as_fd();
    let Ok(Some(fd)) = open_own(directory, name, Purpose::Writing) else { return };
    let Ok(header) = read_header(&fd) else { return };
    if is_of_complete_run(&fd, &header) {
        volumes::remove_all(directory, name, &fd, &header);
        // A journal that stays costs space, and later runs skip it, too.
        let _gone = unlink_own(directory, name, &fd);
    }
}
