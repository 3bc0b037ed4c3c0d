//! ext2, ext3 and ext4.
//!
//! Preallocated extents skip delayed allocation, whose per-inode reservation serialises writers of
//! one file: with two of them 1 GiB takes 0.56 of the time, against 0.78 without (Linux 6.18).
//!
//! Inodes lie in tables on disk, in which removal in the order of numbers walks forwards, while
//! directories are in the order of hashes.

use super::{GroupSync, HoleMap, LOCAL, Preallocate, Quirk, Removal, Sequence};

pub(super) static QUIRK: Quirk = Quirk {
    name: "ext4",
    magic: &[0xef53],
    hole_map: HoleMap::Trusted,
    preallocate: Preallocate::Pays,
    group_sync: GroupSync::Whole,
    removal: Removal { sequence: Sequence::ByInode, workers: 2, large_workers: 4 },
    ..LOCAL
};
