//! tmpfs and ramfs: files that are nothing but page cache.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HoleMap, Latency, Pages, Preallocate, Quirk,
    ReportedSize,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "tmpfs",
    magic: &[0x0102_1994],
    reflinks: false,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Trusted,
    // fallocate zeroes every page first, and writing then fills it a second time.
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Pretended,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};

pub(super) static RAMFS: Quirk = Quirk {
    name: "ramfs",
    magic: &[0x8584_58f6],
    reflinks: false,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Doubted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Pretended,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
