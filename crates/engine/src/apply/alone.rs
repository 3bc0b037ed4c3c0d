//! Moves the bytes of a file with one worker.

use super::complete;
use super::finished::{Finished, job, pair_of};
use super::item::Target;
use crate::context::{Task, Worker, watch};
use crate::entry::Entry;
use crate::request::Make;
use haul_io::transfer::move_file;
use haul_io::{DataError, Moved};
use haul_sys::fs::Stat;
use std::os::fd::OwnedFd;

/// Fills a target with this worker alone.
pub(super) fn fill(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    source: OwnedFd,
    stat: &Stat,
    target: Target,
) {
    let run = worker.operation;
    let moved = if run.policy.make == Make::Attributes {
        Ok(Moved::default())
    } else {
        let pair = pair_of(run, task, stat, &source, &target);
        let watch = watch(worker);
        let begun = target.partial.as_ref().map_or(Ok(()), |file| file.begin_anew(&target.fd));
        begun.map_err(DataError::from).and_then(|()| {
            move_file(&job(&source, &target, stat, &pair, run), &mut worker.local.kit, watch)
        })
    };
    let file = Finished {
        entry,
        source,
        stat,
        target,
        inherits: task.inherits_acl,
        new_owner: task.new_owner,
    };
    complete::complete(worker, file, moved);
}
