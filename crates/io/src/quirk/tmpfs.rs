//! tmpfs and ramfs: files that are nothing but page cache.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HolesTold, Pages, Preallocate, Quirk, SizeTold,
    Trips,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "tmpfs",
    magic: &[0x0102_1994],
    reflinks: false,
    copy_range: CopyRange::Splices,
    size_told: SizeTold::True,
    holes_told: HolesTold::Trusted,
    // fallocate zeroes every page first, and writing then fills it a second time.
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Pretended,
    pages: Pages::Own,
    trips: Trips::Near,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};

pub(super) static RAMFS: Quirk = Quirk {
    name: "ramfs",
    magic: &[0x8584_58f6],
    reflinks: false,
    copy_range: CopyRange::Splices,
    size_told: SizeTold::True,
    holes_told: HolesTold::Doubted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Pretended,
    pages: Pages::Own,
    trips: Trips::Near,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
