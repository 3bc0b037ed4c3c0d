//! `splice`: pages of the source go to the target by way of a pipe.
//!
//! The bytes are copied once, into the target's pages, as by `sendfile`; but the pipe is ours and
//! holds 1 MiB and not 64 KiB, so that the target's folios get larger and a worker alone takes 0.83
//! of the time of a buffer where `sendfile` takes 0.90 (Linux 6.18, ext4, XFS). Several workers of
//! one file are better off with a buffer each: of the two copies that it takes, one is made outside
//! the file's lock.

use haul_sys::data::{splice_in, splice_out};
use haul_sys::{Call, CallError, Errno};

use super::{Attempt, Cause, Fit, Info, Method, RangeJob, Several, Sharing, Want, Zeros, ended};
use crate::method::pair::Pair;
use crate::method::policy::Choice;
use crate::method::sides::Way;
use crate::system::fully::write_each;
use crate::system::kit::Kit;
use crate::system::quirk::ReportedSize;
use crate::system::retry::requesting;

pub(super) struct Splice;

/// The room asked for in the pipe: what an unprivileged user may have.
const PIPE_BYTES: usize = 1 << 20;

/// With less room than this a call of `sendfile` does better; it also moves files of up to its own
/// pipe's size in one call and not two.
const WORTH_BYTES: usize = 128 << 10;

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
        if pair.source.reported_size == ReportedSize::Guessed {
            return Fit::No("the kernel makes these files up as they are read");
        }
        if want.way != Way::Cached && want.sides.any(Way::Direct) {
            return Fit::Unwise("direct I/O is not for pages");
        }
        if want.sharing == Sharing::Several {
            return Fit::Unwise("several workers of one file get further with a buffer each");
        }
        if pair.is_remote() {
            return Fit::Unwise("what the server is asked for is cut into small pieces");
        }
        if want.file_bytes < WORTH_BYTES as u64 {
            return Fit::Unwise("sendfile moves so few bytes in one call");
        }
        Fit::Yes
    }

    fn probes_end(&self) -> bool {
        true
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
    let is_asked_for = job.want.policy.choice != Choice::Auto;
    let next = |errno| Attempt::NextMethod { written: 0, cause: CallError::new(Call::Pipe, errno) };
    if kit.is_short_of_descriptors() && !is_asked_for {
        return next(Errno::MFILE);
    }
    let (reader, writer, room) = match kit.pipe(wanted) {
        Ok(pipe) => pipe,
        Err(error) => return ended(0, error),
    };
    if *room < wanted.min(WORTH_BYTES) && !is_asked_for {
        // pipe(7), /proc/sys/fs/pipe-user-pages-soft: this user has many pipes.
        return next(Errno::PERM);
    }
    let step = job.watch.request_bytes(*room);
    let mut offset = job.source_offset;
    while offset < job.limit() {
        let written = offset - job.source_offset;
        if job.watch.stopped() {
            return Attempt::Failed { written, cause: Cause::Stopped };
        }
        let bytes = usize::try_from(job.limit() - offset).unwrap_or(usize::MAX).min(step);
        let taken = match requesting(&job.watch, || splice_in(job.source, offset, writer, bytes)) {
            Ok(0) => return Attempt::Done(written),
            Ok(waiting) => waiting,
            Err(error) => return ended(written, error),
        };
        let to = job.target_at(offset);
        let (written, error) = write_each(taken as u64, Call::Splice, |done| {
            let left = taken - usize::try_from(done).unwrap_or(taken);
            requesting(&job.watch, || splice_out(reader, job.target, to + done, left))
                .inspect(|moved| job.watch.moved(*moved as u64))
        });
        offset += written;
        if let Some(error) = error {
            return ended(offset - job.source_offset, error);
        }
        if taken < bytes && job.has_shown_end(offset) {
            break;
        }
    }
    Attempt::Done(offset - job.source_offset)
}
