//! `copy-range`: the kernel, or the server behind it, copies the range by itself.

use super::{Attempt, Cause, Fit, Info, Method, RangeJob, Several, Want, Zeros, ended, retrying};
use crate::quirk::{CopyRange as Who, SizeTold};
use crate::sides::Way;
use crate::{Kit, Pair, Reflink, Sparse};

pub(super) struct CopyRange;

/// Bytes of one call: at 10 MB/s, a slow server, a stop is heard within two seconds.
const STEP_BYTES: usize = 16 << 20;

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
        if pair.source.size_told == SizeTold::Guessed {
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
        let mut offset = job.offset;
        while offset < job.end {
            let written = offset - job.offset;
            if job.watch.stopped() {
                return Attempt::Failed { written, cause: Cause::Stopped };
            }
            let step = usize::try_from(job.end - offset).unwrap_or(usize::MAX).min(most);
            let copied = retrying(&job.watch, || {
                haul_sys::data::copy_file_range(job.source, offset, job.target, offset, step)
            });
            match copied {
                // Either the end, or a file that only reading shows; reading finds out.
                Ok(0) => {
                    let cause = haul_sys::CallError::new(
                        haul_sys::Call::CopyFileRange,
                        haul_sys::Errno::INVAL,
                    );
                    return Attempt::NextMethod { written, cause };
                }
                Ok(bytes) => {
                    offset += bytes as u64;
                    job.watch.moved(bytes as u64);
                }
                Err(error) => return ended(written, error),
            }
        }
        Attempt::Done(offset - job.offset)
    }
}
