//! Symbolic links: copies of links, and links to the source.

use std::ffi::{CStr, CString};

use haul_sys::fs::{readlinkat, statat, symlinkat};

use super::created::{Created, make_unopened};
use super::existing::TargetState;
use super::item::Item;
use super::{existing, find};
use crate::copy::context::Worker;
use crate::copy::durable_names::secure_place;
use crate::copy::entry::OpenEntry;
use crate::data::error::What;
use crate::data::monitor::{Outcome, WorkerCounters};
use crate::decide::{Action, Facts, Source, TargetName, classify};
use crate::plan::swap::swap_in;

/// Permission bits of every symbolic link.
const LINK_MODE: u32 = 0o777;

/// Makes a symbolic link with the text of the source link.
pub(super) fn make(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: &TargetState,
) -> Created {
    let run = worker.operation;
    let text = match readlinkat(entry.handles.source(), entry.source) {
        Ok(text) => text,
        Err(error) => {
            entry.fail(run, What::ReadLink, Some(error.errno));
            return Created::No;
        }
    };
    let directory = entry.handles.target();
    make_unopened(worker, entry, item, standing, |name| {
        symlinkat(&text, directory, name).map(|()| LINK_MODE)
    })
}

/// Makes the target a symbolic link to the source (`-s`).
pub(super) fn to_source(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) {
    let run = worker.operation;
    let Ok(text) = CString::new(entry.source_path()) else { return };
    let standing = existing::resolve(worker, entry, item);
    if matches!(standing, TargetState::Settled(_)) {
        return;
    }
    let source = Source {
        link_text: find::link_text(run, entry),
        ..Source::new(&item.stat, &item.link, entry.role())
    };
    let facts = Facts { source, target: TargetName::Free };
    if let Action::Refuse(what) = classify(&facts, run.policy).action {
        return entry.fail(run, what, None);
    }
    item.tell(run, entry, Outcome::Begun);
    let target = entry.handles.target();
    let link = |name: &CStr| run.creating(target, name, || symlinkat(&text, target, name));
    let made = match standing {
        TargetState::Swap => swap_in(target, entry.target, link),
        _ => link(entry.target),
    };
    let Err(error) = made else {
        WorkerCounters::one(&worker.local.counters.symlinks);
        let kept = secure_place(run, entry);
        entry.note_made(run, &item.stat, || statat(target, entry.target));
        entry.tell_copied(run, (item.stat.kind(), kept), item.backup.as_deref());
        return;
    };
    entry.fail(run, What::LinkToSource, Some(error.errno));
    if let Some(backup) = item.backup.take() {
        existing::restore(run, entry.handles.target(), entry, &backup);
    }
}
