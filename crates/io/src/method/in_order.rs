//! Files whose size is not known: read to the end, in order.

use haul_sys::data::{read, write};

use crate::method::MethodId;
use crate::method::error::DataError;
use crate::method::job::FileJob;
use crate::method::moved::{Detection, Moved};
use crate::method::policy::Choice;
use crate::method::shape::is_surely_a_stream;
use crate::system::fully::write_all;
use crate::system::kit::BUFFER_BYTES;
use crate::system::kit::{Kit, Watch};
use crate::system::retry::retrying;

/// What this does, but for the offsets.
const METHOD: MethodId = MethodId::ReadWrite;

/// Moves all that can be read.
pub(crate) fn move_in_order(
    job: &FileJob<'_>,
    kit: &mut Kit,
    watch: Watch<'_>,
) -> Result<Moved, DataError> {
    if let Choice::Only(method) = job.policy.choice
        && method != METHOD
        && is_surely_a_stream(job)
    {
        let why = "only reading to the end shows how much there is, so read-write has to";
        return Err(DataError::Unfit { method, why });
    }
    move_to_end(job, kit, watch)
}

/// Moves all that can be read from the positions of both descriptors, whatever size the source has.
/// Blocks until the source ends.
pub fn move_to_end(job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) -> Result<Moved, DataError> {
    let bytes = watch.request_bytes(job.policy.request_bytes(BUFFER_BYTES));
    let buffer = kit.buffer(bytes)?;
    let buffer = &mut buffer[..bytes];
    let mut total = 0_u64;
    loop {
        if watch.stopped() {
            return Err(DataError::Stopped);
        }
        let filled = retrying(&watch, || read(job.source, buffer))?;
        if filled == 0 {
            return Ok(Moved {
                bytes: total,
                written_bytes: total,
                method: Some(METHOD),
                detection: Detection::No,
                ..Moved::default()
            });
        }
        let bytes = &buffer[..filled];
        if let Some(digests) = job.digests {
            digests.record(total, bytes, filled as u64, digests.hash(bytes));
        }
        let (written, error) = write_all(bytes, |left, _| {
            retrying(&watch, || write(job.target, left)).inspect(|count| watch.moved(*count as u64))
        });
        total += written;
        if let Some(error) = error {
            return Err(error.into());
        }
    }
}
