//! `direct`: past the page cache with `O_DIRECT`, a request at a time; several workers keep several
//! in flight.

use super::{Attempt, Fit, Info, Method, RangeJob, Several, Want};
use crate::method::pair::Pair;
use crate::method::pump::pump;
use crate::method::sides::Way;
use crate::system::kit::Kit;

pub(super) struct Direct;

/// Bytes of one request. Each costs a trip to the device and holds no page cache, so larger than a
/// cached one; past 1 MiB a trip gets no cheaper on disks or over FUSE, whose requests end there.
const REQUEST_BYTES: usize = 1 << 20;

static INFO: Info = Info {
    name: "direct",
    summary: "past the page cache, O_DIRECT with aligned pread(2) and pwrite(2)",
    several: Several::Can,
    way: Way::Direct,
};

impl Method for Direct {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, _pair: &Pair, want: &Want<'_>) -> Fit {
        match (want.way, want.sides.any(Way::Direct)) {
            (Way::Direct, true) => Fit::Yes,
            (Way::Direct, false) => Fit::No("neither file takes direct I/O"),
            _ => Fit::No("the page cache is to be used"),
        }
    }

    fn shows_bytes(&self) -> bool {
        true
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        pump(job, kit, job.want.policy.request_bytes(REQUEST_BYTES), Way::Direct)
    }
}
