//! ext2, ext3 and ext4.
//!
//! Preallocated extents skip delayed allocation, whose per-inode reservation serialises writers of
//! one file: with two of them 1 GiB takes 0.56 of the time, against 0.78 without (Linux 6.18).

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HoleMap, Latency, Pages, Preallocate, Quirk,
    ReportedSize,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "ext4",
    magic: &[0xef53],
    reflinks: false,
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
