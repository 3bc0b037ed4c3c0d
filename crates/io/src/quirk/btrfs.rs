//! btrfs. Preallocated extents are written uncompressed and, where snapshots share them, copied
//! again on the first write (btrfs(5), "PREALLOCATION"), so none are made.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HolesTold, Pages, Preallocate, Quirk, SizeTold,
    Trips,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "btrfs",
    magic: &[0x9123_683e],
    reflinks: true,
    copy_range: CopyRange::Splices,
    size_told: SizeTold::True,
    holes_told: HolesTold::Trusted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    trips: Trips::Near,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
