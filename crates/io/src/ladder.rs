//! The ladder: tries the methods in order, each from where the one before got to.

use haul_sys::CallError;

use crate::errno::{Memory, Verdict, verdict};
use crate::method::{Attempt, Cause, Fit, LADDER, Method, RangeJob};
use crate::{Kit, Pair, Reflink};

/// Why bytes could not be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataError {
    /// A call failed; its name tells whether the source or the target did.
    Call(CallError),
    /// The run was stopped.
    Stopped,
    /// The target took no bytes without saying why.
    NoProgress,
    /// The source ended before the size it had when it was opened, or changed while it was read.
    Changed,
}

impl From<CallError> for DataError {
    fn from(error: CallError) -> DataError {
        DataError::Call(error)
    }
}

/// What was moved, and by which line of the ladder it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Bytes, holes that were passed over included.
    pub bytes: u64,
    /// The line of [`LADDER`] that moved the last of them.
    pub line: usize,
    /// How holes and zeros were looked for.
    pub detection: Detection,
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

/// Moves a range with the first method that fits and is not refused.
///
/// Returns the bytes moved, fewer than the range only when the source ended.
pub fn move_range(
    mut job: RangeJob<'_>,
    pair: &Pair,
    kit: &mut Kit,
) -> Result<Moved, (u64, DataError)> {
    let first = job.offset;
    for (line, method) in LADDER.iter().enumerate() {
        if pair.is_refused(line) && job.want.policy.reflink != Reflink::Always {
            continue;
        }
        if method.fits(pair, &job.want) != Fit::Yes {
            continue;
        }
        match method.attempt(&job, kit) {
            Attempt::Done(bytes) => {
                let bytes = job.offset + bytes - first;
                return Ok(Moved { bytes, line, detection: Detection::Unknown });
            }
            Attempt::NextMethod { written, cause } => {
                job.offset += written;
                if job.want.policy.reflink == Reflink::Always {
                    return Err((job.offset - first, DataError::Call(cause)));
                }
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    pair.refuse(line);
                }
                // What is left is no longer the whole file, and sharing must not start over.
                job.want.whole &= written == 0;
            }
            Attempt::Failed { written, cause } => {
                return Err((job.offset + written - first, data_error(cause)));
            }
        }
    }
    // The last line always fits and never passes on, so this is not reached; a failure, if it is.
    Err((job.offset - first, DataError::NoProgress))
}

fn data_error(cause: Cause) -> DataError {
    match cause {
        Cause::Call(error) => DataError::Call(error),
        Cause::Stopped => DataError::Stopped,
        Cause::NoProgress => DataError::NoProgress,
    }
}

/// Returns the name of a line of the ladder.
#[must_use]
pub fn name(line: usize) -> &'static str {
    LADDER.get(line).map_or("none", |method: &&dyn Method| method.info().name)
}
