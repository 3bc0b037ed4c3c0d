//! btrfs. Preallocated extents are written uncompressed and, where snapshots share them, copied
//! again on the first write (btrfs(5), "PREALLOCATION"), so none are made.

use super::{GroupSync, HoleMap, LOCAL, NameSync, Quirk};

pub(super) static QUIRK: Quirk = Quirk {
    name: "btrfs",
    magic: &[0x9123_683e],
    reflinks: true,
    hole_map: HoleMap::Trusted,
    group_sync: GroupSync::Whole,
    // The log tree, which fsync writes, has lost renames before
    // (<https://btrfs.readthedocs.io/en/latest/Feature-by-version.html>), a commit never.
    name_sync: NameSync::FileSystem,
    ..LOCAL
};
