//! `read-write`: through a buffer, the way that always works.
//!
//! For a few KiB nothing is quicker, and for one large file several workers with a buffer each are
//! faster than any single call of the kernel's.

use haul_sys::data::{pread, pwrite};

use super::{
    Attempt, Cause, FAR_REQUEST_BYTES, Fit, Info, Method, RangeJob, Several, Want, Zeros, ended,
};
use crate::method::pair::Pair;
use crate::method::sides::Way;
use crate::system::fully::write_all;
use crate::system::kit::Kit;
use crate::system::retry::requesting;
use crate::system::segment::zero_runs;

pub(super) struct ReadWrite;

static INFO: Info = Info {
    name: "read-write",
    summary: "reads into a buffer and writes it, pread(2), pwrite(2)",
    several: Several::Can,
    way: Way::Cached,
};

impl Method for ReadWrite {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, _pair: &Pair, _want: &Want<'_>) -> Fit {
        Fit::Yes
    }

    fn shows_bytes(&self) -> bool {
        true
    }

    fn probes_end(&self) -> bool {
        true
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        let range = usize::try_from(job.limit() - job.source_offset).unwrap_or(usize::MAX);
        let usual =
            if job.pair.is_remote() { FAR_REQUEST_BYTES } else { crate::system::kit::BUFFER_BYTES };
        let bytes = job.want.policy.request_bytes(usual);
        let bytes = job.watch.request_bytes(bytes).min(range);
        let buffer = match kit.buffer(bytes) {
            Ok(buffer) => &mut buffer[..bytes],
            Err(error) => return ended(0, error),
        };
        let mut offset = job.source_offset;
        while offset < job.limit() {
            let written = offset - job.source_offset;
            if job.watch.stopped() {
                return Attempt::Failed { written, cause: Cause::Stopped };
            }
            let room =
                usize::try_from(job.limit() - offset).unwrap_or(usize::MAX).min(buffer.len());
            let asked = room;
            let room = &mut buffer[..asked];
            let filled = match requesting(&job.watch, || pread(job.source, room, offset)) {
                Ok(0) => break,
                Ok(filled) => filled,
                Err(error) => return ended(written, error),
            };
            let bytes = &room[..filled];
            let look = job.want.digests.map(|digests| (digests, digests.hash(bytes)));
            let (arrived, error) = put(job, bytes, offset);
            if let Some((digests, look)) = look {
                digests.record(offset, bytes, arrived, look);
            }
            offset += arrived;
            if let Some(cause) = error {
                return Attempt::Failed { written: offset - job.source_offset, cause };
            }
            if filled < asked && job.has_shown_end(offset) {
                break;
            }
        }
        Attempt::Done(offset - job.source_offset)
    }
}

/// Writes what was read, with or without its zeros. Returns how far it came, and why no further.
fn put(job: &RangeJob<'_>, bytes: &[u8], offset: u64) -> (u64, Option<Cause>) {
    match job.want.zeros {
        Zeros::Write => put_all(job, bytes, offset),
        Zeros::Skip => {
            let mut done = 0;
            for run in zero_runs(bytes, offset) {
                if run.zero {
                    job.leave_out(run.bytes.len() as u64);
                    done += run.bytes.len() as u64;
                    continue;
                }
                let (arrived, error) = put_all(job, run.bytes, offset + done);
                done += arrived;
                if error.is_some() {
                    return (done, error);
                }
            }
            (done, None)
        }
    }
}

/// Writes all of it, however short the kernel's answers are.
fn put_all(job: &RangeJob<'_>, bytes: &[u8], offset: u64) -> (u64, Option<Cause>) {
    let to = job.target_at(offset);
    let (done, error) = write_all(bytes, |left, done| {
        requesting(&job.watch, || pwrite(job.target, left, to + done))
            .inspect(|count| job.watch.moved(*count as u64))
    });
    (done, error.map(Cause::Call))
}
