//! ext2, ext3 and ext4.
//!
//! Preallocated extents skip delayed allocation, whose per-inode reservation serialises writers of
//! one file: with two of them 1 GiB takes 0.56 of the time, against 0.78 without (Linux 6.18).

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HolesTold, Pages, Preallocate, Quirk, SizeTold,
    Trips,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "ext4",
    magic: &[0xef53],
    reflinks: false,
    copy_range: CopyRange::Splices,
    size_told: SizeTold::True,
    holes_told: HolesTold::Trusted,
    preallocate: Preallocate::Pays,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    trips: Trips::Near,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Whole,
};
