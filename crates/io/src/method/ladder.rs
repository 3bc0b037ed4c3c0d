//! The ladder: tries the methods in order, each from where the one before got to.

use haul_sys::CallError;

use crate::method::error::DataError;
use crate::method::pair::Pair;
use crate::method::policy::{Choice, Reflink};
use crate::method::report::{Refusal, Why};
use crate::method::{Attempt, Cause, Fit, Method, MethodId, Portion, RangeJob, Want};
use crate::system::errno::{Memory, Verdict, verdict};
use crate::system::kit::Kit;

/// How far a range has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes, zeros that were left out included.
    pub bytes: u64,
    /// The method that moved the last of them.
    pub method: MethodId,
    /// Whether a flush for lack of space came between two parts of the range.
    pub in_pieces: bool,
}

/// Moves a range with the first method that fits and is not refused, or with the one that was asked
/// for.
///
/// Returns the bytes moved, fewer than the range only when the source ended.
pub(crate) fn move_range(
    mut job: RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    if let Choice::Only(id) = job.want.policy.choice {
        return move_by(id, job, pair, kit);
    }
    let first = job.source_offset;
    let must_share = job.want.policy.reflink == Reflink::Always;
    let mut in_pieces = false;
    for id in in_order(&job.want) {
        if pair.is_refused(id) && !must_share {
            continue;
        }
        let method = id.method();
        if is_blind(method, &job) || !is_tried(id, pair, &job.want) {
            continue;
        }
        let (answer, flushed) = attempt(method, &mut job, kit);
        in_pieces |= flushed;
        match answer {
            Attempt::Done(bytes) => {
                let bytes = job.source_offset + bytes - first;
                return Ok(Progress { bytes, method: id, in_pieces });
            }
            Attempt::NextMethod { written, cause } => {
                go_on_behind(&mut job, written);
                if must_share {
                    return Err((job.source_offset - first, DataError::Call(cause)));
                }
                note(&job, id, cause);
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    pair.refuse(id);
                }
            }
            Attempt::Failed { written, cause } => {
                return Err((job.source_offset + written - first, data_error(cause)));
            }
        }
    }
    // The last line always fits and never passes on, so this is not reached; a failure, if it is.
    Err((job.source_offset - first, DataError::NoProgress))
}

/// Moves a range with one method. If the target's file system is full, flushes it and goes on from where
/// the method got to. Byte counts of the answer are from the offset that `job` then begins at. Returns
/// also whether the range was moved in pieces, with a flush between.
pub(crate) fn attempt(
    method: &dyn Method,
    job: &mut RangeJob<'_>,
    kit: &mut Kit,
) -> (Attempt, bool) {
    let mut repeated = job.pair.space.begin();
    let mut in_pieces = false;
    loop {
        let answer = method.attempt(job, kit);
        let (written, is_lacking) = match answer {
            Attempt::Failed { written, cause: Cause::Call(error) } => {
                (written, verdict(error.call, error.errno) == Verdict::Flush)
            }
            Attempt::Failed { written, .. } | Attempt::NextMethod { written, .. } => {
                (written, false)
            }
            Attempt::Done(bytes) => {
                repeated.succeeded();
                (bytes, false)
            }
        };
        // A last block that is longer than the file may have failed behind the file's end. Then nothing is
        // left to move, and the target would keep its length.
        let is_left = written < job.end - job.source_offset;
        if is_lacking && written > 0 {
            repeated.went_on();
        }
        if !is_lacking || !is_left || !repeated.flush(job.target, || job.watch.stopped()) {
            return (answer, in_pieces);
        }
        go_on_behind(job, written);
        in_pieces |= written > 0;
    }
}

/// Leaves out the bytes that have arrived. What is left of a whole file is one no longer, and sharing
/// must not start over.
fn go_on_behind(job: &mut RangeJob<'_>, written: u64) {
    job.skip(written);
    if written > 0 {
        job.want.portion = Portion::Bytes;
    }
}

/// Returns the methods in the order in which they are tried: the one that shares blocks, those that are
/// preferred for this size and do what is wanted to the page cache, and then the ladder's own order.
fn in_order<'a>(want: &Want<'a>) -> impl Iterator<Item = MethodId> + use<'a> {
    let (preferred, way) = (want.policy.preferred(want.file_bytes), want.way);
    // A method of another way would leave pages that stay.
    let is_first = move |id: &MethodId| preferred.contains(id) && id.info().way == way;
    let is_copying = |id: &MethodId| *id != MethodId::Reflink;
    let rest = MethodId::ALL.into_iter().filter(move |id| !is_first(id));
    std::iter::once(MethodId::Reflink)
        .chain(preferred.iter().copied().filter(is_first).filter(is_copying))
        .chain(rest.filter(is_copying))
}

/// Returns whether a method is worth an attempt: it fits, or the policy prefers it because it was
/// measured to be faster, and it does the same to the page cache.
fn is_tried(id: MethodId, pair: &Pair, want: &Want<'_>) -> bool {
    match id.method().fits(pair, want) {
        Fit::Yes => true,
        Fit::Unwise(_) => {
            id != MethodId::Reflink
                && id.info().way == want.way
                && want.policy.preferred(want.file_bytes).contains(&id)
        }
        Fit::No(_) => false,
    }
}

/// Moves a range with one method or not at all.
fn move_by(
    id: MethodId,
    mut job: RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    let method = id.method();
    let first = job.source_offset;
    if is_blind(method, &job) {
        let why = "the bytes are to be hashed, and this method does not show them";
        return Err((0, DataError::Unfit { method: id, why }));
    }
    if let Fit::No(why) = method.fits(pair, &job.want) {
        return Err((0, DataError::Unfit { method: id, why }));
    }
    let (answer, in_pieces) = attempt(method, &mut job, kit);
    let before = job.source_offset - first;
    match answer {
        Attempt::Done(bytes) => Ok(Progress { bytes: before + bytes, method: id, in_pieces }),
        Attempt::NextMethod { written, cause } => {
            Err((before + written, DataError::Refused { method: id, cause }))
        }
        Attempt::Failed { written, cause } => Err((before + written, data_error(cause))),
    }
}

/// Returns whether the bytes are to be hashed and the method does not show them.
fn is_blind(method: &dyn Method, job: &RangeJob<'_>) -> bool {
    job.want.digests.is_some() && !method.shows_bytes()
}

fn note(job: &RangeJob<'_>, method: MethodId, cause: CallError) {
    if let Some(notes) = job.want.notes {
        let mut notes = notes.lock();
        if !notes.iter().any(|refusal| refusal.method == method) {
            notes.push(Refusal { method, why: Why::Refused(cause) });
        }
    }
}

pub(crate) fn data_error(cause: Cause) -> DataError {
    match cause {
        Cause::Call(error) => DataError::Call(error),
        Cause::Stopped => DataError::Stopped,
    }
}
