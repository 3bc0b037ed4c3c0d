//! Hard links: preserves the links between source files, and makes links to the source itself.

use std::ffi::CStr;
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, linkat, statat};
use haul_sys::{Call, CallError, Errno};

use super::existing::TargetState;
use super::item::Item;
use super::links::{Name, Waiting};
use super::{already_done, basis, existing, find, synchronized};
use crate::copy::context::Worker;
use crate::copy::durable_names::secure_place;
use crate::copy::entry::{Entry, OpenEntry};
use crate::data::error::What;
use crate::data::monitor::{Outcome, WorkerCounters};
use crate::data::request::Changes;
use crate::decide::Seen;
use crate::journal::Names;
use crate::metadata::Kept;
use crate::names::at::At;
use crate::names::known_names::SourceState;
use crate::plan::swap::swap_in;

/// Links a waiting entry to its file, which has its name now.
pub(super) fn link_waiting(worker: &mut Worker<'_, '_>, first: &Name, waiting: Waiting) {
    let run = worker.operation;
    let Waiting { node, source, target, mut item } = waiting;
    let entry = Entry { node: &node, source: &source, target: &target, rest: None };
    match run.cache.of(&node) {
        Ok(handles) => {
            let entry = OpenEntry { entry, handles: &handles };
            to_first(worker, &entry, &mut item, first);
        }
        Err(error) => entry.fail(run, What::CreateHardLink, Some(error.errno)),
    }
    worker.release(node);
}

/// Reports an entry whose file the run could not complete.
pub(super) fn give_up(worker: &mut Worker<'_, '_>, waiting: Waiting) {
    let run = worker.operation;
    let Waiting { node, source, target, .. } = waiting;
    if !run.stopped() {
        let entry = Entry { node: &node, source: &source, target: &target, rest: None };
        entry.fail(run, What::CreateHardLink, None);
    }
    worker.release(node);
}

/// Links an entry to a file of the target.
pub(super) fn to_first(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    first: &Name,
) {
    let run = worker.operation;
    let handles = match run.cache.of(&first.node) {
        Ok(handles) => handles,
        Err(error) => {
            entry.fail(run, What::CreateHardLink, Some(error.errno));
            return;
        }
    };
    let target = entry.handles.target();
    let name = || Name {
        node: Arc::clone(entry.node),
        name: entry.target.to_owned(),
        source: entry.source.to_owned(),
    };
    let link = |name: &CStr| {
        run.creating(target, name, || {
            linkat(handles.target(), &first.name, target, name, Follow::No)
        })
    };
    // A synchronisation that finds everything there makes no call that could write.
    let is_there = run.synchronized.is_some() && !existing::is_free(entry);
    let exists = || Err(CallError::new(Call::Linkat, Errno::EXIST));
    let mut answer = if is_there { exists() } else { link(entry.target) };
    if answer.is_err_and(|error| error.errno == Errno::EXIST) {
        // The name may already be a link to the same file, from an earlier run.
        let twin = statat(handles.target(), &first.name);
        if let (Ok(one), Ok(two)) = (twin, statat(target, entry.target))
            && one.same_file(&two)
        {
            if already_done::is_finished(worker, entry, item, Names::Several) {
                run.links.joined(SourceState::of(&item.stat), name());
                return;
            }
            if run.synchronized.is_some() {
                item.changes = Some(Changes::default());
                WorkerCounters::one(&worker.local.counters.skipped);
                item.tell(run, entry, Outcome::Skipped);
                return run.links.joined(SourceState::of(&item.stat), name());
            }
            answer = Ok(());
        } else {
            answer = match make_room(worker, entry, item) {
                Room::Made => link(entry.target),
                Room::Without => {
                    let old = At { directory: target, name: entry.target };
                    match synchronized::back_up(run, entry, old) {
                        Ok(()) => swap_in(target, entry.target, link),
                        Err(error) => {
                            return entry.fail(run, What::Backup, Some(error.errno));
                        }
                    }
                }
                Room::None => return,
            };
        }
    }
    match answer {
        Ok(()) => {
            if secure_place(run, entry) == Kept::All {
                basis::compare_linked(run, entry, item);
                item.tell_linked(run, entry, first);
            }
            WorkerCounters::one(&worker.local.counters.hard_links);
            entry.note_made(run, &item.stat, || statat(target, entry.target));
            already_done::note_named(run, entry, item, Names::Several);
            run.links.joined(SourceState::of(&item.stat), name());
        }
        Err(error) => {
            entry.fail_link(run, error.errno, first);
            if let Some(backup) = item.backup.take() {
                existing::restore(run, target, entry, &backup);
            }
        }
    }
}

/// Whether the target name is free for a link.
enum Room {
    Made,
    /// The name is taken, but the run may replace the existing file.
    Without,
    None,
}

/// Frees a target name that is to become a link to a file that the run has already copied.
fn make_room(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) -> Room {
    match existing::resolve_taken(worker, entry, item, Seen::AsLink) {
        TargetState::Free => Room::Made,
        TargetState::Settled(_) => Room::None,
        TargetState::Replace(..) | TargetState::Swap => Room::Without,
        // The run also replaces a file that it may write to: the names belong to one file.
        TargetState::Overwrite(_) | TargetState::Merge(_) => {
            match existing::remove(worker, entry) {
                TargetState::Free => Room::Made,
                _ => Room::None,
            }
        }
    }
}

/// Makes the target a hard link to the source itself (`-l`).
pub(super) fn to_source(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) {
    let run = worker.operation;
    let standing = existing::resolve(worker, entry, item);
    if matches!(standing, TargetState::Settled(_)) {
        return;
    }
    let (source, target) = (entry.handles.source(), entry.handles.target());
    let follow =
        if item.stat.kind() == Kind::Symlink { Follow::No } else { find::follows(run, entry) };
    item.tell(run, entry, Outcome::Begun);
    let link = |name: &CStr| {
        run.creating(target, name, || linkat(source, entry.source, target, name, follow))
    };
    let made = match standing {
        TargetState::Swap => swap_in(target, entry.target, link),
        _ => link(entry.target),
    };
    match made {
        Ok(()) => {
            WorkerCounters::one(&worker.local.counters.hard_links);
            let kept = secure_place(run, entry);
            entry.note_made(run, &item.stat, || statat(target, entry.target));
            entry.tell_copied(run, (item.stat.kind(), kept), item.backup.as_deref());
        }
        Err(error) => {
            entry.fail(run, What::CreateHardLink, Some(error.errno));
            if let Some(backup) = item.backup.take() {
                existing::restore(run, target, entry, &backup);
            }
        }
    }
}
