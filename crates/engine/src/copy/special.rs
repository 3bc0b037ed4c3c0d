//! Makes FIFOs, sockets and devices, and never opens them.

use std::cell::Cell;
use std::ffi::CStr;

use haul_sys::fs::{Kind, mknodat, statat};

use super::created::{Created, keep_by_name, put_in_place};
use super::existing::TargetState;
use super::item::Item;
use crate::copy::context::Worker;
use crate::copy::durable_names::secure_place;
use crate::copy::entry::OpenEntry;
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::metadata::Kept;

/// Makes a file of the source's kind, with its device number.
pub(super) fn make(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: &TargetState,
) -> Created {
    let run = worker.operation;
    let kind = item.stat.kind();
    let mode = crate::metadata::creation_mode(
        &run.wanted(&item.stat, entry.node.new_owner),
        run.policy,
        entry.node.new_owner,
    );
    let rdev = match kind {
        Kind::BlockDevice | Kind::CharDevice => item.stat.rdev,
        _ => 0,
    };
    let directory = entry.handles.target();
    let kept = Cell::new(Kept::All);
    let make = |name: &CStr| {
        run.creating(directory, name, || mknodat(directory, name, kind, mode, rdev))?;
        kept.set(keep_by_name(run, entry, &item.stat, name));
        Ok(())
    };
    let Some(made) = put_in_place(run, entry, item, standing, make) else {
        return Created::No;
    };
    if let Err(error) = made {
        let what = if kind == Kind::Fifo { What::CreateFifo } else { What::CreateSpecial };
        entry.fail(run, what, Some(error.errno));
        return Created::No;
    }
    WorkerCounters::one(&worker.local.counters.specials);
    let kept = kept.get().and(secure_place(run, entry));
    entry.note_made(run, &item.stat, || statat(directory, entry.target));
    entry.tell_copied(run, (kind, kept), item.backup.as_deref());
    Created::Yes
}
