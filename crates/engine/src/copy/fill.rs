//! Filling: decides how many workers move the bytes of a file whose target is open.

use haul_io::method::Sharing;
use haul_io::transfer::{is_worth_a_worker, is_worth_parting, is_worth_sharing};

use super::finished::{job, pair_of};
use super::item::Upcoming;
use super::next::{Filling, Large, Next};
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
