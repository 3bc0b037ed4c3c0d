//! `reflink`: the target shares the source's blocks; nothing is moved at all.

use haul_sys::data::{ficlone, ficlone_range};

use super::{Attempt, Fit, Info, Method, Portion, RangeJob, Several, Want, Zeros, ended};
use crate::method::pair::Pair;
use crate::method::policy::{Reflink as Policy, Sparse};
use crate::method::sides::Way;
use crate::system::kit::Kit;
use crate::system::retry::retrying;

pub(super) struct Reflink;

/// Below this size reading and writing is as quick as the two transactions that sharing takes
/// (FICLONE: 15–30 µs whatever the size), and leaves no shared extent behind that the first
/// change would have to break.
const WORTH_BYTES: u64 = 32 << 10;

static INFO: Info = Info {
    name: "reflink",
    summary: "shares the source's blocks, ioctl_ficlone(2)",
    several: Several::Cannot,
    way: Way::Cached,
};

impl Method for Reflink {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit {
        match want.policy.reflink {
            Policy::Never => return Fit::No("--reflink=never"),
            Policy::Always => return Fit::Yes,
            Policy::Auto => {}
        }
        if want.policy.sparse == Sparse::Never {
            return Fit::No("--sparse=never; holes would be shared");
        }
        if want.portion == Portion::Bytes {
            return Fit::No("only a part of the file is asked for");
        }
        if want.zeros == Zeros::Skip {
            return Fit::No("zeros are to become holes");
        }
        if !pair.one_device() && pair.source.name != pair.target.name {
            return Fit::Unwise("two different file systems");
        }
        if !pair.target.reflinks || !pair.source.reflinks {
            return Fit::Unwise("the file system does not share blocks");
        }
        if want.file_bytes < WORTH_BYTES {
            return Fit::Unwise("too small to be worth sharing");
        }
        Fit::Yes
    }

    fn attempt(&self, job: &RangeJob<'_>, _kit: &mut Kit) -> Attempt {
        let bytes = job.end - job.source_offset;
        let shared = retrying(&job.watch, || match job.want.portion {
            Portion::File => ficlone(job.source, job.target),
            Portion::Blocks | Portion::Bytes => {
                let RangeJob { source, target, source_offset, target_offset, .. } = *job;
                ficlone_range(source, source_offset, bytes, target, target_offset)
            }
        });
        match shared {
            Ok(()) => {
                job.watch.counted(bytes);
                Attempt::Done(bytes)
            }
            Err(error) => ended(0, error),
        }
    }
}
