//! btrfs. Preallocated extents are written uncompressed and, where snapshots share them, copied
//! again on the first write (btrfs(5), "PREALLOCATION"), so none are made.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HoleMap, Latency, Pages, Preallocate, Quirk,
    ReportedSize,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "btrfs",
    magic: &[0x9123_683e],
    reflinks: true,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Trusted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
