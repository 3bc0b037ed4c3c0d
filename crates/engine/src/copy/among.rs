//! Existing files of the target that two processes could write to at the same time, each by another name.
//!
//! Within a process, [turns](super::turns) let one entry at a time write to a file. Processes have no common
//! turns, so one process writes to all names of such a file: the one that owns its inode number, as it
//! owns the names of a file of the source.

use haul_sys::fs::Kind;

use super::existing::{self, Inherits, TargetState};
use super::item::Item;
use crate::copy::context::Worker;
use crate::copy::entry::OpenEntry;
use crate::data::error::What;
use crate::decide;

/// What comes next for an entry whose name is taken.
pub(super) enum Next {
    /// This process goes on with the name in this state.
    Here(TargetState),
    /// Nothing: another process copies the entry, or it has failed.
    Nothing,
}

/// Decides whether this process may write to the file that has the name of an entry.
pub(super) fn settle(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: TargetState,
) -> Next {
    let run = worker.operation;
    let Some(peers) = run.peers.as_ref().filter(|peers| peers.count() > 1) else {
        return Next::Here(standing);
    };
    let (TargetState::Overwrite(taken) | TargetState::Replace(taken, Inherits::Yes)) = &standing
    else {
        return Next::Here(standing);
    };
    let Some(file) = taken.reached().filter(|file| file.kind() == Kind::Regular) else {
        return Next::Here(standing);
    };
    if taken.link.kind() == Kind::Symlink {
        // Another process that meets the file by its own name does not know of the link.
        entry.fail(run, What::LinkAmongProcesses, None);
        return Next::Nothing;
    }
    // A file that replaces another one has an inode of its own.
    if file.nlink == 1 || !matches!(standing, TargetState::Overwrite(_)) {
        return Next::Here(standing);
    }
    // One process already makes all names of this source, and they become names of a new file.
    if decide::is_tracked(entry.role(), &item.stat, run.policy) {
        return match existing::remove(worker, entry) {
            TargetState::Settled(_) => Next::Nothing,
            free => Next::Here(free),
        };
    }
    match peers.other_owner(file.ino) {
        Some(owner) => {
            let (source, target) = (entry.source.to_owned(), entry.target.to_owned());
            run.routes.route(owner, entry.node, source, target);
            Next::Nothing
        }
        None => Next::Here(standing),
    }
}
