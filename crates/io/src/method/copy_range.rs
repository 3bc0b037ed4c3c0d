//! `copy-range`: the kernel, or the server behind it, copies the range by itself.

use haul_sys::process::thread_usage;
use haul_sys::{Call, CallError, Errno};

use super::{Attempt, Cause, Fit, Info, Method, MethodId, RangeJob, Several, Want, Zeros, ended};
use crate::method::pair::Pair;
use crate::method::policy::{Reflink, Sparse};
use crate::method::report::{Refusal, Why};
use crate::method::sides::Way;
use crate::system::kit::Kit;
use crate::system::quirk::{CopyRange as Who, ReportedSize};
use crate::system::retry::requesting;

pub(super) struct CopyRange;

/// Bytes of one call: at 10 MB/s, a slow server, a stop is heard within two seconds.
const STEP_BYTES: usize = 16 << 20;

/// Bytes of the call by which a server is tried; fewer tell nothing, and more would take long where
/// the answer is no.
const TRIAL_BYTES: usize = 512 << 10;

/// A server that copies by itself is waited for once, and a few times more for the target's lock
/// where other workers are at it. The kernel in its stead reads and writes so many bytes at a time, and
/// waits at least once for each.
const TRIAL_WAIT_BYTES: u64 = 64 << 10;

/// Finds out whether the server or the kernel copies. Where a FUSE, NFS or SMB server does not know
/// the request, the kernel reports nothing and moves the bytes here and back by itself, 64 KiB at a
/// time (`fs/fuse/file.c`, `fs/nfs/nfs4file.c`, since 5.3): at a few milliseconds a trip that is the
/// slowest way there is. So one worker finds out, and the others behave as if the server did not copy.
struct Trial<'p> {
    pair: &'p Pair,
    waits: u64,
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.pair.end_trial();
    }
}

impl<'p> Trial<'p> {
    /// Begins a trial if the answer is unknown and the call is long enough to show it.
    fn begin(pair: &'p Pair, bytes: usize) -> Option<Trial<'p>> {
        let is_due = pair.is_remote() && !pair.offloads() && bytes >= TRIAL_BYTES;
        is_due.then(|| {
            pair.begin_trial();
            Trial { pair, waits: thread_usage().waits }
        })
    }

    /// Judges the call, and notes the answer where reports are wanted.
    fn end(self, job: &RangeJob<'_>, bytes: usize) -> Who {
        if bytes < TRIAL_BYTES {
            return Who::Offloads;
        }
        if thread_usage().waits - self.waits < bytes as u64 / TRIAL_WAIT_BYTES {
            self.pair.prove_offload();
            return Who::Offloads;
        }
        if let Some(notes) = job.want.notes {
            let why = Why::Unwise("the server does not copy, and the kernel would by 64 KiB");
            let mut notes = notes.lock();
            notes.push(Refusal { method: MethodId::CopyRange, why });
        }
        Who::Splices
    }
}

static INFO: Info = Info {
    name: "copy-range",
    summary: "lets the kernel or the server copy, copy_file_range(2)",
    several: Several::Can,
    way: Way::Cached,
};

impl Method for CopyRange {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit {
        if want.policy.reflink == Reflink::Never {
            return Fit::No("--reflink=never; the kernel might share blocks");
        }
        if want.policy.sparse == Sparse::Never {
            return Fit::No("--sparse=never; the kernel might keep holes");
        }
        if want.zeros == Zeros::Skip {
            return Fit::No("zeros are to become holes");
        }
        if !pair.one_device() {
            return Fit::Unwise("two file systems");
        }
        if pair.is_on_trial() && want.file_bytes >= TRIAL_BYTES as u64 {
            return Fit::Unwise("another worker is finding out whether the server copies");
        }
        if pair.source.reported_size == ReportedSize::Guessed {
            return Fit::No("the kernel makes these files up as they are read");
        }
        if pair.target.copy_range == Who::Splices {
            return Fit::Unwise(
                "the kernel would copy through the page cache, with the target locked",
            );
        }
        Fit::Yes
    }

    fn attempt(&self, job: &RangeJob<'_>, _kit: &mut Kit) -> Attempt {
        let most = job.watch.request_bytes(job.want.policy.io_bytes.unwrap_or(STEP_BYTES));
        let mut offset = job.source_offset;
        while offset < job.end {
            let written = offset - job.source_offset;
            if job.watch.stopped() {
                return Attempt::Failed { written, cause: Cause::Stopped };
            }
            let step = usize::try_from(job.end - offset).unwrap_or(usize::MAX).min(most);
            let trial = Trial::begin(job.pair, step);
            let step = trial.as_ref().map_or(step, |_| step.min(TRIAL_BYTES));
            let to = job.target_at(offset);
            let copied = requesting(&job.watch, || {
                haul_sys::data::copy_file_range(job.source, offset, job.target, to, step)
            });
            match copied {
                // Either the end, or a file that only reading shows; reading finds out.
                Ok(0) => {
                    let cause = CallError::new(Call::CopyFileRange, Errno::INVAL);
                    return Attempt::NextMethod { written, cause };
                }
                Ok(bytes) => {
                    offset += bytes as u64;
                    job.watch.moved(bytes as u64);
                    if let Some(trial) = trial
                        && trial.end(job, bytes) == Who::Splices
                    {
                        let cause = CallError::new(Call::CopyFileRange, Errno::OPNOTSUPP);
                        return Attempt::NextMethod { written: offset - job.source_offset, cause };
                    }
                }
                Err(error) => return ended(written, error),
            }
        }
        Attempt::Done(offset - job.source_offset)
    }
}
