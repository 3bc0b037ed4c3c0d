//! The ladder: tries the methods in order, each from where the one before got to.

use std::sync::PoisonError;

use haul_sys::CallError;

use crate::errno::{Memory, Verdict, verdict};
use crate::job::Change;
use crate::method::{Attempt, Cause, Fit, LADDER, Method, Portion, RangeJob, Want};
use crate::report::{Refusal, Why};
use crate::sides::Which;
use crate::{Choice, Kit, Pair, Reflink, Report, Residency};

/// Why bytes could not be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataError {
    /// A call failed; its name tells whether the source or the target did.
    Call(CallError),
    /// The run was stopped.
    Stopped,
    /// No method took the range.
    NoProgress,
    /// The source ended before the size it had when it was opened, or changed while it was read.
    Changed,
    /// The method that was asked for cannot serve.
    Unfit {
        /// Its line of the ladder.
        line: usize,
        /// Why it cannot.
        why: &'static str,
    },
    /// The kernel refused the method that was asked for.
    Refused {
        /// Its line of the ladder.
        line: usize,
        /// What the kernel said.
        cause: CallError,
    },
}

impl From<CallError> for DataError {
    fn from(error: CallError) -> DataError {
        DataError::Call(error)
    }
}

/// How far a range has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes, zeros that were left out included.
    pub bytes: u64,
    /// The line of [`LADDER`] that moved the last of them.
    pub line: usize,
}

/// What was moved, and by which line of the ladder it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes, without holes that were passed over.
    pub bytes: u64,
    /// The line of [`LADDER`] that moved the last of them.
    pub line: usize,
    /// How holes and zeros were looked for.
    pub detection: Detection,
    /// What happened to the source meanwhile; never [`Change::Bytes`], which is an error.
    pub change: Change,
    /// What was cached, if that was asked for.
    pub residency: Option<Residency>,
    /// Why direct I/O was not possible, where it was asked for and nobody was told so yet.
    pub not_direct: Option<NotDirect>,
    /// Why it was done so, if that was asked for.
    pub report: Option<Box<Report>>,
}

/// Why direct I/O was not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotDirect {
    /// The side on which it was not.
    pub which: Which,
    /// The call that said so.
    pub cause: CallError,
}

/// How holes and zeros of a source were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detection {
    /// There was no need to, for blocks are shared or nothing was moved.
    #[default]
    Unknown,
    /// Not at all.
    No,
    /// Zeros, by reading.
    Zeros,
    /// Holes, by asking the file system.
    Holes,
    /// Both.
    HolesAndZeros,
}

/// Moves a range with the first method that fits and is not refused, or with the one that was asked
/// for.
///
/// Returns the bytes moved, fewer than the range only when the source ended.
pub fn move_range(
    mut job: RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    if let Choice::Only(line) = job.want.policy.choice {
        return move_by(line, &job, pair, kit);
    }
    let first = job.source_offset;
    let must_share = job.want.policy.reflink == Reflink::Always;
    for (line, method) in in_order(&job.want) {
        if pair.is_refused(line) && !must_share {
            continue;
        }
        if is_blind(*method, &job) || !is_tried(line, *method, pair, &job.want) {
            continue;
        }
        match method.attempt(&job, kit) {
            Attempt::Done(bytes) => {
                return Ok(Progress { bytes: job.source_offset + bytes - first, line });
            }
            Attempt::NextMethod { written, cause } => {
                job.skip(written);
                if must_share {
                    return Err((job.source_offset - first, DataError::Call(cause)));
                }
                note(&job, line, cause);
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    pair.refuse(line);
                }
                // What is left is no longer the whole file, and sharing must not start over.
                if written > 0 {
                    job.want.portion = Portion::Bytes;
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

/// Returns the lines in the order in which they are tried: what shares blocks, what is preferred for
/// this size, and then the ladder's own order.
fn in_order<'a>(
    want: &Want<'a>,
) -> impl Iterator<Item = (usize, &'static &'static dyn Method)> + use<'a> {
    let preferred = want.policy.preferred(want.file_bytes);
    let lines = std::iter::once(0)
        .chain(preferred.iter().copied().filter(|line| *line != 0))
        .chain((1..LADDER.len()).filter(|line| !preferred.contains(line)));
    lines.filter_map(|line| Some((line, LADDER.get(line)?)))
}

/// Says whether a method is worth an attempt: it fits, or somebody measured that it is better than
/// what we would choose, and it does the same to the page cache.
fn is_tried(line: usize, method: &dyn Method, pair: &Pair, want: &Want<'_>) -> bool {
    match method.fits(pair, want) {
        Fit::Yes => true,
        Fit::Unwise(_) => {
            line != 0
                && method.info().way == want.way
                && want.policy.preferred(want.file_bytes).contains(&line)
        }
        Fit::No(_) => false,
    }
}

/// Moves a range with one method or not at all.
fn move_by(
    line: usize,
    job: &RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    let Some(method) = LADDER.get(line) else { return Err((0, DataError::NoProgress)) };
    if is_blind(*method, job) {
        let why = "the bytes are to be hashed, and this method does not show them";
        return Err((0, DataError::Unfit { line, why }));
    }
    if let Fit::No(why) = method.fits(pair, &job.want) {
        return Err((0, DataError::Unfit { line, why }));
    }
    match method.attempt(job, kit) {
        Attempt::Done(bytes) => Ok(Progress { bytes, line }),
        Attempt::NextMethod { written, cause } => {
            Err((written, DataError::Refused { line, cause }))
        }
        Attempt::Failed { written, cause } => Err((written, data_error(cause))),
    }
}

/// Tells whether somebody is to see the bytes and the method does not show them.
fn is_blind(method: &dyn Method, job: &RangeJob<'_>) -> bool {
    job.want.digests.is_some() && !method.shows_bytes()
}

fn note(job: &RangeJob<'_>, line: usize, cause: CallError) {
    if let Some(notes) = job.want.notes {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.iter().any(|refusal| refusal.line == line) {
            notes.push(Refusal { line, why: Why::Refused(cause) });
        }
    }
}

pub(crate) fn data_error(cause: Cause) -> DataError {
    match cause {
        Cause::Call(error) => DataError::Call(error),
        Cause::Stopped => DataError::Stopped,
    }
}

/// Returns the line of the method of this name.
#[must_use]
pub fn line_of(name: &str) -> Option<usize> {
    LADDER.iter().position(|method| method.info().name == name)
}

/// Returns the name of a line of the ladder.
#[must_use]
pub fn name(line: usize) -> &'static str {
    LADDER.get(line).map_or("none", |method: &&dyn Method| method.info().name)
}
