//! `splice`: pages of the source go to the target by way of a pipe.
//!
//! Unlike `sendfile` it takes offsets on both sides, so several workers can; the bytes are copied
//! once, into the target's pages.

use haul_sys::data::{splice_in, splice_out};

use super::{Attempt, Cause, Fit, Info, Method, RangeJob, Several, Want, Zeros, ended, retrying};
use crate::quirk::SizeTold;
use crate::sides::Way;
use crate::{Kit, Pair};

pub(super) struct Splice;

/// The room asked for in the pipe: what an unprivileged user may have.
const PIPE_BYTES: usize = 1 << 20;

static INFO: Info = Info {
    name: "splice",
    summary: "moves pages through a pipe, splice(2)",
    several: Several::Can,
    way: Way::Cached,
};

impl Method for Splice {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit {
        if want.zeros == Zeros::Skip {
            return Fit::No("zeros are to become holes");
        }
        if pair.source.size_told == SizeTold::Guessed {
            return Fit::No("the kernel makes these files up as they are read");
        }
        Fit::Unwise("sendfile does the same with half the calls, and buffers scale better")
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        let attempt = splice(job, kit);
        if !matches!(attempt, Attempt::Done(_)) {
            // Bytes may be left in the pipe.
            kit.lose_pipe();
        }
        attempt
    }
}

fn splice(job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
    let wanted = job.want.policy.io_bytes.map_or(PIPE_BYTES, |bytes| bytes.min(PIPE_BYTES));
    let (reader, writer, room) = match kit.pipe(wanted) {
        Ok(pipe) => pipe,
        Err(error) => return ended(0, error),
    };
    let step = job.watch.request_bytes(*room);
    let mut offset = job.offset;
    while offset < job.end {
        let written = offset - job.offset;
        if job.watch.stopped() {
            return Attempt::Failed { written, cause: Cause::Stopped };
        }
        let bytes = usize::try_from(job.end - offset).unwrap_or(usize::MAX).min(step);
        let mut waiting =
            match retrying(&job.watch, || splice_in(job.source, offset, writer, bytes)) {
                Ok(0) => return Attempt::Done(written),
                Ok(waiting) => waiting,
                Err(error) => return ended(written, error),
            };
        while waiting > 0 {
            match retrying(&job.watch, || splice_out(reader, job.target, offset, waiting)) {
                Ok(0) => {
                    let written = offset - job.offset;
                    return Attempt::Failed { written, cause: Cause::NoProgress };
                }
                Ok(moved) => {
                    waiting = waiting.saturating_sub(moved);
                    offset += moved as u64;
                    job.watch.moved(moved as u64);
                }
                Err(error) => return ended(offset - job.offset, error),
            }
        }
    }
    Attempt::Done(offset - job.offset)
}
