//! Entries that the run makes and does not open: their names, their attributes, and the result.

use std::cell::Cell;
use std::ffi::CStr;

use haul_sys::fs::{Kind, Stat, statat};

use super::existing::{Done, TargetState};
use super::item::Item;
use super::synchronized;
use crate::copy::context::Worker;
use crate::copy::durable_names::secure_place;
use crate::copy::entry::OpenEntry;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::metadata::{Kept, by_name};
use crate::names::at::At;
use crate::plan::swap::swap_in;

/// Whether the entry has its name in the target now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Created {
    Yes,
    /// The name existed before the run, and stands for the copy.
    Before,
    No,
}

impl Created {
    pub(super) const fn settled(done: Done) -> Created {
        match done {
            Done::UpToDate => Created::Before,
            Done::Skipped | Done::Failed => Created::No,
        }
    }
}

/// Makes a link or a special file, which has no bytes, with its attributes. `make` makes it under a name, and
/// returns the mode that it made it with.
pub(super) fn make_unopened(
    worker: &Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: &TargetState,
    make: impl Fn(&CStr) -> haul_sys::Result<u32>,
) -> Created {
    let run = worker.operation;
    let directory = entry.handles.target();
    let kept = Cell::new(Kept::All);
    let make = |name: &CStr| {
        let mode = run.creating(directory, name, || make(name))?;
        kept.set(keep_by_name(run, entry, &item.stat, name, mode));
        Ok(())
    };
    let Some(made) = put_in_place(run, entry, item, standing, make) else { return Created::No };
    let (kind, counters) = (item.stat.kind(), &worker.local.counters);
    let (counter, what) = match kind {
        Kind::Symlink => (&counters.symlinks, What::CreateSymlink),
        Kind::Fifo => (&counters.specials, What::CreateFifo),
        _ => (&counters.specials, What::CreateSpecial),
    };
    if let Err(error) = made {
        entry.fail(run, what, Some(error.errno));
        return Created::No;
    }
    WorkerCounters::one(counter);
    let kept = kept.get().and(secure_place(run, entry));
    entry.note_made(run, &item.stat, || statat(directory, entry.target));
    entry.tell_copied(run, (kind, kept), item.backup.as_deref());
    Created::Yes
}

/// Applies the attributes of a source that the run does not open to a name that it has just made with the mode `made`.
fn keep_by_name(run: &Run<'_>, entry: &OpenEntry<'_>, stat: &Stat, name: &CStr, made: u32) -> Kept {
    let source = At { directory: entry.handles.source(), name: entry.source };
    let target = At { directory: entry.handles.target(), name };
    let now = run.synchronized.as_ref().and_then(|_| statat(target.directory, name).ok());
    let wanted = run.wanted(stat, now.map(|now| (now.uid, now.gid)));
    entry.lost(run, stat, by_name::keep(source, &wanted, target, made, run.policy_for(stat.kind())))
}

/// Makes an entry under its name, which is free, or in the place of the entry that has it, of which the run keeps a
/// backup if it makes any and the two differ. Returns `None` if there could be no backup, which is reported.
pub(super) fn put_in_place(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: &TargetState,
    make: impl Fn(&CStr) -> haul_sys::Result<()>,
) -> Option<haul_sys::Result<()>> {
    let TargetState::Replace(..) = standing else { return Some(make(entry.target)) };
    let directory = entry.handles.target();
    let old = At { directory, name: entry.target };
    if !item.is_same
        && let Err(error) = synchronized::back_up(run, entry, old)
    {
        entry.fail(run, What::Backup, Some(error.errno));
        return None;
    }
    Some(swap_in(directory, entry.target, make))
}
