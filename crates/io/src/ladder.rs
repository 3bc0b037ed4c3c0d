//! The ladder: tries the methods in order, each from where the one before got to.

use std::error::Error;
use std::fmt;
use std::sync::PoisonError;

use haul_sys::CallError;

use crate::errno::{Memory, Verdict, verdict};
use crate::job::Change;
use crate::method::{Attempt, Cause, Fit, Method, MethodId, Portion, RangeJob, Want};
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
        /// The method.
        method: MethodId,
        /// Why it cannot.
        why: &'static str,
    },
    /// The kernel refused the method that was asked for.
    Refused {
        /// The method.
        method: MethodId,
        /// What the kernel said.
        cause: CallError,
    },
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Call(error) => write!(f, "{error}"),
            DataError::Stopped => f.write_str("stopped"),
            DataError::NoProgress => f.write_str("no method moved the bytes"),
            DataError::Changed => f.write_str("the file changed while it was read"),
            DataError::Unfit { method, why } => {
                write!(f, "the method {} cannot serve: {why}", method.name())
            }
            DataError::Refused { method, cause } => {
                write!(f, "the kernel refused the method {}: {cause}", method.name())
            }
        }
    }
}

impl Error for DataError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DataError::Call(error) | DataError::Refused { cause: error, .. } => Some(error),
            DataError::Stopped
            | DataError::NoProgress
            | DataError::Changed
            | DataError::Unfit { .. } => None,
        }
    }
}

impl From<CallError> for DataError {
    fn from(error: CallError) -> DataError {
        DataError::Call(error)
    }
}

/// How far a range has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes, zeros that were left out included.
    pub bytes: u64,
    /// The method that moved the last of them.
    pub method: MethodId,
}

impl Moved {
    /// Returns the name of the method that moved the bytes, or `none`.
    #[must_use]
    pub fn method_name(&self) -> &'static str {
        self.method.map_or("none", MethodId::name)
    }
}

/// What was moved, and by which method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes, without holes that were passed over.
    pub bytes: u64,
    /// The method that moved the last of them; `None` where there was nothing to move.
    pub method: Option<MethodId>,
    /// How holes and zeros were looked for.
    pub detection: Detection,
    /// What happened to the source meanwhile; never [`Change::Bytes`], which is an error.
    pub change: Change,
    /// What was cached, if that was asked for.
    pub residency: Option<Residency>,
    /// Why direct I/O was not possible, where it was asked for and this was not reported yet.
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
pub(crate) fn move_range(
    mut job: RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    if let Choice::Only(id) = job.want.policy.choice {
        return move_by(id, &job, pair, kit);
    }
    let first = job.source_offset;
    let must_share = job.want.policy.reflink == Reflink::Always;
    for id in in_order(&job.want) {
        if pair.is_refused(id) && !must_share {
            continue;
        }
        let method = id.method();
        if is_blind(method, &job) || !is_tried(id, pair, &job.want) {
            continue;
        }
        match method.attempt(&job, kit) {
            Attempt::Done(bytes) => {
                return Ok(Progress { bytes: job.source_offset + bytes - first, method: id });
            }
            Attempt::NextMethod { written, cause } => {
                job.skip(written);
                if must_share {
                    return Err((job.source_offset - first, DataError::Call(cause)));
                }
                note(&job, id, cause);
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    pair.refuse(id);
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

/// Returns the methods in the order in which they are tried: the one that shares blocks, those that are
/// preferred for this size, and then the ladder's own order.
fn in_order<'a>(want: &Want<'a>) -> impl Iterator<Item = MethodId> + use<'a> {
    let preferred = want.policy.preferred(want.file_bytes);
    let is_copying = |id: &MethodId| *id != MethodId::Reflink;
    let rest = MethodId::ALL.into_iter().filter(|id| !preferred.contains(id));
    std::iter::once(MethodId::Reflink)
        .chain(preferred.iter().copied().filter(is_copying))
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
    job: &RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Progress, (u64, DataError)> {
    let method = id.method();
    if is_blind(method, job) {
        let why = "the bytes are to be hashed, and this method does not show them";
        return Err((0, DataError::Unfit { method: id, why }));
    }
    if let Fit::No(why) = method.fits(pair, &job.want) {
        return Err((0, DataError::Unfit { method: id, why }));
    }
    match method.attempt(job, kit) {
        Attempt::Done(bytes) => Ok(Progress { bytes, method: id }),
        Attempt::NextMethod { written, cause } => {
            Err((written, DataError::Refused { method: id, cause }))
        }
        Attempt::Failed { written, cause } => Err((written, data_error(cause))),
    }
}

/// Returns whether the bytes are to be hashed and the method does not show them.
fn is_blind(method: &dyn Method, job: &RangeJob<'_>) -> bool {
    job.want.digests.is_some() && !method.shows_bytes()
}

fn note(job: &RangeJob<'_>, method: MethodId, cause: CallError) {
    if let Some(notes) = job.want.notes {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
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
