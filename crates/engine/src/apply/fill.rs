//! Filling: moves the bytes of a file whose target is open, then its attributes.

use std::os::fd::OwnedFd;

use haul_io::method::Sharing;
use haul_io::transfer::{is_worth_a_worker, is_worth_sharing};
use haul_sys::fs::Stat;

use super::finished::{job, pair_of};
use super::item::{Follow, Target};
use super::{alone, shared};
use crate::context::{Task, Worker};
use crate::entry::Entry;
use crate::request::Make;

/// Fills a target. For a large file, other workers help; if more large files follow, one other
/// worker fills it.
pub(super) fn fill(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    (source, stat): (OwnedFd, &Stat),
    (target, follow): (Target, Follow),
) {
    let run = worker.operation;
    if target.partial.is_some() {
        let pair = pair_of(run, task, stat, &source, &target);
        let sharing = Sharing::Several;
        let large = shared::Large { entry, source, stat, target, pair, sharing };
        shared::begin(worker, task, large);
        return;
    }
    if run.budget.waiting_workers > 1 && run.policy.make == Make::Copy {
        let pair = pair_of(run, task, stat, &source, &target);
        let job = job(&source, &target, stat, &pair, run);
        if is_worth_sharing(&job) {
            let sharing = match follow {
                Follow::Large if is_worth_a_worker(&job) => Sharing::Sole,
                Follow::Large | Follow::Small => Sharing::Several,
            };
            let large = shared::Large { entry, source, stat, target, pair, sharing };
            shared::begin(worker, task, large);
            return;
        }
    }
    alone::fill(worker, task, entry, source, stat, target);
}
