//! Entries that an earlier run finished: this run recognises them and leaves them as they are. A
//! run that finishes an entry records it in the journal.

use haul_sys::fs::{Kind, Stat, statat};

use super::item::Item;
use super::pin_later::Unpinned;
use super::{existing, flags};
use crate::copy::context::Worker;
use crate::copy::entry::OpenEntry;
use crate::copy::run::Run;
use crate::data::monitor::Report;
use crate::data::request::WholeDigest;
use crate::journal::{FinishedEntry, Names};
use crate::names::by_identity::identity;
use crate::names::file_systems::Via;

/// Returns whether an earlier run finished an entry and neither side has changed since. The run
/// then treats the entry as copied, regardless of the rules for a taken name.
pub(super) fn is_finished(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    names: Names,
) -> bool {
    let run = worker.operation;
    let Some(journal) = run.journal.filter(|journal| journal.knows_finished()) else {
        return false;
    };
    let Ok(target) = statat(entry.handles.target(), entry.target) else { return false };
    if target.kind() != item.stat.kind() {
        return false;
    }
    let pinning = flags::pinning(run, entry, item);
    // The flags that pin a file change the target's ctime, as further names do.
    let names = if pinning.is_some() { Names::Several } else { names };
    let finished = finished_entry(run, entry, (&item.stat, &target), names);
    let Some(record) = finished.and_then(|finished| journal.finished(&finished)) else {
        return false;
    };
    let is_wanted = run.policy.hashing.is_some_and(|of| of.whole == WholeDigest::Tell);
    if is_wanted && target.kind() == Kind::Regular {
        let Some(digest) = journal.digest(record) else { return false };
        run.monitor.report(Report::Hashed { target: &entry.target_path(), digest: &digest });
    }
    // The name may not be on stable storage yet; the flush at the end of the run covers it, too.
    run.group.anchor(entry.node, entry.handles.target());
    // A large tree has many finished entries. Only those are recorded that another entry is likely to find.
    if entry.is_operand() || (target.kind() == Kind::Regular && target.nlink > 1) {
        entry.note_made(run, &item.stat, || Ok(target));
    }
    if let Some(flags) = pinning {
        run.pin_later.add(Unpinned::of(entry, &item.stat, identity(&target), flags));
    }
    journal.count_found();
    existing::note_skipped(worker, entry, item.stat.kind());
    true
}

/// Records a link or special file, which has no bytes and is complete with its name.
pub(super) fn note_named(run: &Run<'_>, entry: &OpenEntry<'_>, item: &Item, names: Names) {
    // If the target cannot be described, the only consequence is that a later run copies it again.
    if let Some(journal) = run.journal
        && let Ok(target) = statat(entry.handles.target(), entry.target)
    {
        let finished = finished_entry(run, entry, (&item.stat, &target), names);
        journal.note_finished(finished.as_ref(), item.described_after, None);
    }
}

/// Returns an entry as the journal records it; `None` if a later run could not recognise its files.
fn finished_entry<'a>(
    run: &Run<'_>,
    entry: &'a OpenEntry<'_>,
    (source, target): (&'a Stat, &'a Stat),
    names: Names,
) -> Option<FinishedEntry<'a>> {
    let handles = entry.handles;
    let source = run.file_systems.identified(Via::Name(handles.source(), entry.source), source)?;
    let target = run.file_systems.identified(Via::Name(handles.target(), entry.target), target)?;
    Some(FinishedEntry { source, target, place: entry.place(), names })
}
