//! Filling: decides how many workers move the bytes of a file whose target is open, and moves them by one.

use haul_io::method::Sharing;
use haul_io::transfer::{is_worth_a_worker, is_worth_parting, is_worth_sharing, move_file};
use haul_io::{DataError, Moved};

use super::finished::{job, pair_of};
use super::item::Upcoming;
use super::next::{Filling, Large, Next};
use crate::copy::context::{Worker, watch};
use crate::copy::run::Run;
use crate::data::request::Make;

/// Decides how a file is filled. For a large file, other workers help; if more large files follow,
/// one other worker fills it. Parts of a larger one can go to other processes.
pub(super) fn fill<'a>(run: &Run<'_>, filling: Filling<'a>, upcoming: Upcoming) -> Next<'a> {
    let Filling { entry, source, stat, target, .. } = &filling;
    if target.partial.is_some() {
        let pair = pair_of(run, entry.node, stat, source, target);
        return Next::Share(Large { filling, pair, sharing: Sharing::Several });
    }
    if run.has_others() && run.policy.make == Make::Copy {
        let pair = pair_of(run, entry.node, stat, source, target);
        if is_worth_parting(&job(source, target, stat, &pair, run)) {
            return Next::Share(Large { filling, pair, sharing: Sharing::Several });
        }
    }
    if run.budget.waiting_workers > 1 && run.policy.make == Make::Copy {
        let pair = pair_of(run, entry.node, stat, source, target);
        let job = job(source, target, stat, &pair, run);
        if is_worth_sharing(&job) {
            let sharing = match upcoming {
                Upcoming::Large if is_worth_a_worker(&job) => Sharing::Sole,
                Upcoming::Large | Upcoming::Small => Sharing::Several,
            };
            return Next::Share(Large { filling, pair, sharing });
        }
    }
    Next::FillAlone(filling)
}

/// Moves the bytes of a file with this worker alone.
pub(super) fn fill_alone<'a>(worker: &mut Worker<'_, '_>, filling: Filling<'a>) -> Next<'a> {
    let run = worker.operation;
    if run.policy.make == Make::Attributes {
        return Next::Complete(filling.finished(), Ok(Moved::default()));
    }
    let Filling { entry, source, stat, target, .. } = &filling;
    let pair = pair_of(run, entry.node, stat, source, target);
    let watch = watch(worker);
    let begun = target.partial.as_ref().map_or(Ok(()), |file| file.begin_anew(&target.fd));
    let moved = begun.map_err(DataError::from).and_then(|()| {
        move_file(&job(source, target, stat, &pair, run), &mut worker.local.kit, watch)
    });
    Next::Complete(filling.finished(), moved)
}
