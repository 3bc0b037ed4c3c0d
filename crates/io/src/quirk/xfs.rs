//! XFS. Reflinks when made with `-m reflink=1`, the default since xfsprogs 5.1; without it the
//! first refusal (EOPNOTSUPP) is remembered.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HoleMap, Latency, Pages, Preallocate, Quirk,
    ReportedSize,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "xfs",
    magic: &[0x5846_5342],
    reflinks: true,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Trusted,
    preallocate: Preallocate::Pays,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
