//! tmpfs and ramfs: files that are nothing but page cache. Nothing is stable, so there is nothing to
//! wait for.

use super::{DirectIo, Evidence, GroupSync, HoleMap, LOCAL, Quirk};

/// `fallocate` zeroes every page first, and writing then fills it a second time, so it is not used.
pub(super) static QUIRK: Quirk = Quirk {
    name: "tmpfs",
    magic: &[0x0102_1994],
    hole_map: HoleMap::Trusted,
    direct_io: DirectIo::Pretended,
    group_sync: GroupSync::Whole,
    evidence: Evidence::Memory,
    ..LOCAL
};

pub(super) static RAMFS: Quirk = Quirk {
    name: "ramfs",
    magic: &[0x8584_58f6],
    direct_io: DirectIo::Pretended,
    group_sync: GroupSync::Whole,
    evidence: Evidence::Memory,
    ..LOCAL
};
