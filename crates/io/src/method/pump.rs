//! The loop of the methods that read into a buffer and write from it on ways that may want
//! alignment: `direct` and `uncached`.
//!
//! A file hardly ever ends on a block. Its last block is read as far as it goes, written with
//! zeros behind it, and cut to size; everything before is aligned by itself.

use haul_sys::data::ftruncate;
use haul_sys::{Call, CallError, Errno};

use crate::method::sides::{Way, Which};
use crate::method::{Attempt, Cause, RangeJob, Zeros, ended};
use crate::system::fully::write_all;
use crate::system::kit::Kit;
use crate::system::retry::retrying;
use crate::system::segment::zero_runs;

/// Moves a range in requests of up to `request_bytes`, until it is moved or `way` is lost on both
/// sides.
pub(crate) fn pump(job: &RangeJob<'_>, kit: &mut Kit, request_bytes: usize, way: Way) -> Attempt {
    let sides = job.want.sides;
    let align = u64::from(sides.align());
    for (which, call, offset) in [
        (Which::Source, Call::DirectRead, job.source_offset),
        (Which::Target, Call::DirectWrite, job.target_offset),
    ] {
        if sides.way(which) == Way::Direct && !offset.is_multiple_of(align) {
            let cause = CallError::new(call, Errno::INVAL);
            sides.fall_back(which, Way::Direct, &job.ends(), cause);
        }
    }
    let most = usize::try_from((job.end - job.source_offset).next_multiple_of(align));
    let request_bytes = job.watch.request_bytes(request_bytes).min(most.unwrap_or(usize::MAX));
    let buffer = match kit.buffer(request_bytes) {
        Ok(buffer) => &mut buffer[..request_bytes],
        Err(error) => return ended(0, error),
    };
    let mut offset = job.source_offset;
    while offset < job.end {
        let written = offset - job.source_offset;
        if job.watch.stopped() {
            return Attempt::Failed { written, cause: Cause::Stopped };
        }
        if !sides.any(way) {
            return ended(written, sides.cause(way));
        }
        let left = usize::try_from(job.end - offset).unwrap_or(usize::MAX).min(buffer.len());
        let asked = left.next_multiple_of(align as usize).min(buffer.len());
        let room = &mut buffer[..asked];
        let filled = match sides.read(&job.ends(), room, offset) {
            Ok(0) => break,
            Ok(filled) => filled.min(left),
            Err(error) => return ended(written, error),
        };
        let seen = &room[..filled];
        let look = job.want.digests.map(|digests| (digests, digests.hash(seen)));
        let (arrived, error) = put(job, room, filled, offset);
        if let Some((digests, look)) = look {
            digests.record(offset, &room[..filled], arrived, look);
        }
        offset += arrived;
        if let Some(cause) = error {
            return Attempt::Failed { written: offset - job.source_offset, cause };
        }
    }
    Attempt::Done(offset - job.source_offset)
}

/// Writes the first `filled` bytes of the buffer. Returns how many arrived, and why no more did.
fn put(job: &RangeJob<'_>, buffer: &mut [u8], filled: usize, offset: u64) -> (u64, Option<Cause>) {
    let sides = job.want.sides;
    let padded = filled.next_multiple_of(sides.align() as usize).min(buffer.len());
    let is_direct = sides.way(Which::Target) == Way::Direct;
    let end = offset + filled as u64;
    let ends_file = Some(end) == job.want.file_end;
    if padded > filled && is_direct && !ends_file {
        // The source ended early or answers in odd pieces. What is behind may belong to others.
        let cause = CallError::new(Call::DirectWrite, Errno::INVAL);
        sides.fall_back(Which::Target, Way::Direct, &job.ends(), cause);
    }
    let pads = padded > filled && is_direct && ends_file;
    if pads {
        buffer[filled..padded].fill(0);
    }
    let length = if pads { padded } else { filled };
    let mut done = 0;
    let runs: &mut dyn Iterator<Item = (usize, bool)> = &mut runs(job, buffer, filled, offset);
    for (run_bytes, zero) in runs {
        let stop = if done + run_bytes == filled { length } else { done + run_bytes };
        if zero {
            job.leave_out(run_bytes as u64);
        } else {
            let bytes = &buffer[done..stop];
            let (arrived, error) = put_all(job, bytes, offset + done as u64, run_bytes as u64);
            // What counts is what the calls took, not what they were given.
            if error.is_some() || arrived != run_bytes as u64 {
                return (done as u64 + arrived, error);
            }
        }
        done += run_bytes;
    }
    if pads && let Err(error) = retrying(&job.watch, || ftruncate(job.target, job.target_at(end))) {
        return (done as u64, Some(Cause::Call(error)));
    }
    (done as u64, None)
}

/// Cuts what was read into runs of zeros and of others, where zeros are to be left out.
fn runs<'b>(
    job: &RangeJob<'_>,
    buffer: &'b [u8],
    filled: usize,
    offset: u64,
) -> impl Iterator<Item = (usize, bool)> + use<'b> {
    let bytes = &buffer[..filled];
    let whole = (job.want.zeros == Zeros::Write).then_some((filled, false));
    let skipped = (job.want.zeros == Zeros::Skip).then(|| zero_runs(bytes, offset));
    whole.into_iter().chain(skipped.into_iter().flatten().map(|run| (run.bytes.len(), run.zero)))
}

/// Writes all of it, however short the answers; only `counted` of the bytes are the file's.
fn put_all(job: &RangeJob<'_>, bytes: &[u8], offset: u64, counted: u64) -> (u64, Option<Cause>) {
    let to = job.target_at(offset);
    let (done, error) = write_all(bytes, |left, done| {
        job.want.sides.write(&job.ends(), left, to + done).inspect(|count| {
            let now = done + *count as u64;
            job.watch.moved(now.min(counted) - done.min(counted));
        })
    });
    (done.min(counted), error.map(Cause::Call))
}
