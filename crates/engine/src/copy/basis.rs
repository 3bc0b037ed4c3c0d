//! Entries that another directory has already: earlier snapshots, for example. They become names of the same files, or
//! are not made at all, as the policy of a synchronisation says.

use std::ffi::CStr;
use std::ops::ControlFlow;

use haul_sys::fs::{Follow, linkat, statat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use super::created::Created;
use super::existing::TargetState;
use super::item::Item;
use super::synchronized::{self, find_basis, gives, purpose};
use crate::copy::context::Worker;
use crate::copy::entry::OpenEntry;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::monitor::{Outcome, WorkerCounters};
use crate::data::request::{BasisUse, Changes};
use crate::names::at::At;
use crate::plan::swap::swap_in;
use crate::sync::basis::{Basis, Fit, Search};

/// Compares a new directory with the one of another directory, for its report.
pub(super) fn compare_directory(run: &Run<'_>, entry: &OpenEntry<'_>, item: &mut Item) {
    item.changes = None;
    if run.tells_entries
        && let Ok(Some(basis)) = find_basis(run, entry, item)
    {
        item.changes = Some(basis.changes);
    }
}

/// Makes an entry of what another directory has, unless it has nothing that serves. Returns the state of the name
/// otherwise.
pub(super) fn make(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    standing: TargetState,
) -> ControlFlow<Created, TargetState> {
    let run = worker.operation;
    let Some(purpose) = purpose(run) else { return ControlFlow::Continue(standing) };
    let found = match item.search {
        Search::Best => find_basis(run, entry, item),
        Search::Exact => Ok(item.basis.take()),
        Search::Nothing => Ok(None),
    };
    let basis = match found {
        Ok(Some(basis)) => basis,
        Ok(None) => return ControlFlow::Continue(standing),
        Err((what, errno)) => {
            entry.fail(run, what, Some(errno));
            return ControlFlow::Break(Created::No);
        }
    };
    item.changes = Some(basis.changes);
    let may_give = purpose != BasisUse::Link || gives(run, item, &basis);
    match (purpose, basis.fit) {
        (BasisUse::Link, Fit::Exact) if may_give => match link(run, entry, &standing, &basis) {
            Ok(()) => ControlFlow::Break(linked(worker, entry, item, &basis)),
            // The other file system, and a file with too many names: it is copied.
            Err(Refused::Link) => ControlFlow::Continue(standing),
            Err(Refused::Backup(errno)) => {
                entry.fail(run, What::Backup, Some(errno));
                ControlFlow::Break(Created::No)
            }
        },
        (BasisUse::Compare, Fit::Exact) => {
            ControlFlow::Break(leave(worker, entry, item, &standing))
        }
        _ => ControlFlow::Continue(standing),
    }
}

/// Why an entry did not become another name of a file.
enum Refused {
    Link,
    Backup(Errno),
}

/// Makes the entry another name of a file, and makes sure that it is the one that was compared.
fn link(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    standing: &TargetState,
    basis: &Basis,
) -> Result<(), Refused> {
    let target = entry.handles.target();
    let link = |name: &CStr| {
        run.creating(target, name, || {
            linkat(&*basis.directory, &basis.name, target, name, Follow::No)
        })?;
        let is_right = statat(target, name).is_ok_and(|stat| stat.same_file(&basis.stat));
        if is_right {
            return Ok(());
        }
        let _removed = unlinkat(target, name);
        Err(CallError::new(Call::Linkat, Errno::STALE))
    };
    let made = match standing {
        TargetState::Replace(..) => {
            let old = At { directory: target, name: entry.target };
            synchronized::back_up(run, entry, old).map_err(|error| Refused::Backup(error.errno))?;
            swap_in(target, entry.target, link)
        }
        _ => link(entry.target),
    };
    made.map_err(|_| Refused::Link)
}

/// Reports an entry that has become another name of a file.
fn linked(worker: &Worker<'_, '_>, entry: &OpenEntry<'_>, item: &Item, basis: &Basis) -> Created {
    let run = worker.operation;
    WorkerCounters::one(&worker.local.counters.hard_links);
    entry.note_made(run, &item.stat, || Ok(basis.stat));
    if crate::copy::durable_names::secure_place(run, entry) == crate::metadata::Kept::All {
        item.tell(run, entry, Outcome::Linked);
    }
    Created::Before
}

/// Leaves an entry out that another directory has. A file of the target goes, so that the target has only what the other
/// one does not have.
fn leave(
    worker: &Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    standing: &TargetState,
) -> Created {
    let run = worker.operation;
    item.changes = Some(Changes::default());
    if matches!(standing, TargetState::Replace(..)) {
        let directory = entry.handles.target();
        let gone = synchronized::back_up(run, entry, At { directory, name: entry.target })
            .map_err(|error| (What::Backup, error.errno))
            .and_then(|()| {
                unlinkat(directory, entry.target).map_err(|error| (What::Remove, error.errno))
            });
        if let Err((what, errno)) = gone
            && errno != Errno::NOENT
        {
            entry.fail(run, what, Some(errno));
            return Created::No;
        }
    }
    WorkerCounters::one(&worker.local.counters.skipped);
    item.tell(run, entry, Outcome::Skipped);
    Created::No
}

/// Compares an entry that has become another name of a file of the run with that of another directory, for its report.
pub(super) fn compare_linked(run: &Run<'_>, entry: &OpenEntry<'_>, item: &mut Item) {
    if !run.tells_entries || purpose(run) != Some(BasisUse::Link) {
        return;
    }
    let now = statat(entry.handles.target(), entry.target);
    if let (Ok(now), Ok(Some(basis))) = (now, find_basis(run, entry, item)) {
        let is_twin = basis.stat.same_file(&now);
        item.changes = is_twin.then_some(basis.changes).or(item.changes);
    }
}
