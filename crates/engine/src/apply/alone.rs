//! Moves the bytes of a file with one worker.

use haul_io::transfer::move_file;
use haul_io::{DataError, Moved};

use super::finished::{job, pair_of};
use super::item::Target;
use super::next::{Filling, Next};
use super::regular::truncate;
use super::unfinished::Unfinished;
use crate::context::{Worker, watch};
use crate::error::What;
use crate::request::Make;
use crate::run::Run;

/// Moves the bytes of a file with this worker alone.
pub(super) fn fill<'a>(worker: &mut Worker<'_, '_>, filling: Filling<'a>) -> Next<'a> {
    let run = worker.operation;
    if let Err(error) = clear(run, &filling.target) {
        let Filling { entry, stat, target, .. } = &filling;
        entry.fail(run, What::CreateFile, Some(error.errno));
        return Unfinished::of(entry, stat, target).take_away(run, None);
    }
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

/// Removes the old bytes of a file that has other names: another worker may have filled it since
/// this worker opened it.
fn clear(run: &Run<'_>, target: &Target) -> haul_sys::Result<()> {
    let before = target.before.as_ref().filter(|_| target.other_names);
    before.map_or(Ok(()), |before| truncate(run, before, &target.fd))
}
