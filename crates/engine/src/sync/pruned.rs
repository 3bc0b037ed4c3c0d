//! Directories in which there is nothing but directories, and what the selection leaves out.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, open_directory, statat};
use haul_tree::for_each_name;

use crate::data::selected::{Inside, Listing, enter};
use crate::names::at::At;

/// Returns whether a directory has an entry that is selected and no directory, at any depth. One that cannot be read counts
/// as one that has: the copy reports it. Blocks while it reads directories.
pub(crate) fn has_entries(
    source: At<'_>,
    (within, listing): (&Inside, Listing),
    follow: Follow,
) -> bool {
    let Ok(directory) = open_directory(source.directory, source.name, follow) else { return true };
    let named = (source.name, false);
    let Ok(within) = enter(within, listing, named, &directory) else { return true };
    let mut left: Vec<(Arc<OwnedFd>, CString, Inside)> = Vec::new();
    let Some(found) = look(&Arc::new(directory), &within, follow, &mut left) else { return true };
    if found {
        return true;
    }
    while let Some((above, name, within)) = left.pop() {
        let Ok(directory) = open_directory(&*above, &name, follow) else { return true };
        let named = (&*name, false);
        let Ok(within) = enter(&within, Listing::Directory, named, &directory) else { return true };
        match look(&Arc::new(directory), &within, follow, &mut left) {
            Some(false) => {}
            Some(true) | None => return true,
        }
    }
    false
}

/// Returns whether a directory itself has such an entry, and adds its directories to those that are left. Returns nothing
/// if it cannot be read.
fn look(
    directory: &Arc<OwnedFd>,
    within: &Inside,
    follow: Follow,
    left: &mut Vec<(Arc<OwnedFd>, CString, Inside)>,
) -> Option<bool> {
    let mut found = false;
    let read = for_each_name(&**directory, |entry| {
        let name = entry.name;
        let is_out = within.as_deref().is_some_and(|within| {
            within.choose(&**directory, name, None, follow).is_excluded_by_rule()
        });
        if is_out {
            return ControlFlow::Continue(());
        }
        match statat(&**directory, name) {
            Ok(stat) if stat.kind() == Kind::Directory => {
                left.push((Arc::clone(directory), name.to_owned(), within.clone()));
                ControlFlow::Continue(())
            }
            _ => {
                found = true;
                ControlFlow::Break(())
            }
        }
    });
    read.ok().map(|()| found)
}
