//! Moves the bytes of a file with one worker.

use haul_io::transfer::move_file;
use haul_io::{DataError, Moved};

use super::finished::{job, pair_of};
use super::next::{Filling, Next};
use crate::copy::context::{Worker, watch};
use crate::data::request::Make;

/// Moves the bytes of a file with this worker alone.
pub(super) fn fill<'a>(worker: &mut Worker<'_, '_>, filling: Filling<'a>) -> Next<'a> {
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
