//! XFS. Reflinks when made with `-m reflink=1`, the default since xfsprogs 5.1; without it the
//! first refusal (EOPNOTSUPP) is remembered.
//!
//! XFS puts directories into its allocation groups in turn and files beside their directory. Two workers
//! in one group wait for the lock of its inode list, entry after entry, and so does a worker that removes files
//! in the group where the kernel still frees the inodes that it removed before. So each worker chooses a
//! directory of a group in which no other worker is, and which no worker has just left.

use super::{
    Chattr, Evidence, GroupSync, Groups, HoleMap, LOCAL, Preallocate, Quirk, Removal, Sequence,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "xfs",
    magic: &[0x5846_5342],
    reflinks: true,
    hole_map: HoleMap::Trusted,
    preallocate: Preallocate::Pays,
    group_sync: GroupSync::Whole,
    // fsync of a clean file flushes the device (`xfs_file_fsync`); a log that was shut down refuses the map.
    evidence: Evidence::Extents,
    removal: Removal { sequence: Sequence::ByInode, workers: 1, large_workers: 4 },
    groups: Groups::OfInode,
    chattr: Chattr::AtOnce,
    ..LOCAL
};
