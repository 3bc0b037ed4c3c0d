//! FIFOs, sockets and devices: made anew, never opened.

use haul_sys::fs::{Kind, mknodat};

use super::Item;
use super::make::Made;
use crate::error::What;
use crate::metadata::by_name::{self, Place};
use crate::monitor::Shard;
use crate::run::Entry;
use crate::worker::{Task, Worker};

/// Makes a file of the source's kind, with its device number.
pub(super) fn make(worker: &Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &Item) -> Made {
    let run = worker.run;
    let kind = item.stat.kind();
    let mode = crate::metadata::creation_mode(&item.stat, run.policy, task.new_owner);
    let rdev = match kind {
        Kind::BlockDevice | Kind::CharDevice => item.stat.rdev,
        _ => 0,
    };
    if let Err(error) = mknodat(task.handles.target(), entry.target, kind, mode, rdev) {
        let what = if kind == Kind::Fifo { What::CreateFifo } else { What::CreateSpecial };
        entry.fail(run, what, Some(error.errno));
        return Made::No;
    }
    Shard::one(&worker.shard.specials);
    let source = Place { directory: task.handles.source(), name: entry.source };
    let target = Place { directory: task.handles.target(), name: entry.target };
    entry.lost(run, by_name::keep(source, &item.stat, target, run.policy));
    Made::Yes
}
