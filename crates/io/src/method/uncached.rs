//! `uncached`: through the page cache, which forgets the bytes at once (`RWF_DONTCACHE`).
//!
//! It wants no alignment and serves files of any size, so it is how small files leave no trace.

use super::{Attempt, Fit, Info, Method, RangeJob, Several, Want};
use crate::method::pair::Pair;
use crate::method::pump::pump;
use crate::method::sides::Way;
use crate::system::kit::Kit;

pub(super) struct Uncached;

static INFO: Info = Info {
    name: "uncached",
    summary: "through the page cache without a trace, preadv2(2) with RWF_DONTCACHE",
    several: Several::Can,
    way: Way::Uncached,
};

impl Method for Uncached {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, _pair: &Pair, want: &Want<'_>) -> Fit {
        match (want.way, want.sides.any(Way::Uncached)) {
            (Way::Cached, _) => Fit::No("the bytes may stay in the page cache"),
            (_, true) => Fit::Yes,
            (_, false) => Fit::No("neither file system has RWF_DONTCACHE"),
        }
    }

    fn shows_bytes(&self) -> bool {
        true
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        pump(
            job,
            kit,
            job.want.policy.request_bytes(crate::system::kit::BUFFER_BYTES),
            Way::Uncached,
        )
    }
}
