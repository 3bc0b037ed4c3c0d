//! XFS. Reflinks when made with `-m reflink=1`, the default since xfsprogs 5.1; without it the
//! first refusal (EOPNOTSUPP) is remembered.
//!
//! XFS puts directories into its allocation groups in turn and files beside their directory. In the
//! order of inodes a group's directories follow one another, so that workers that have halves of the
//! list are in different groups; in the order of names they would want the same group's lock at the
//! same time, directory after directory.

use super::{GroupSync, HoleMap, LOCAL, Preallocate, Quirk, Removal, Sequence};

pub(super) static QUIRK: Quirk = Quirk {
    name: "xfs",
    magic: &[0x5846_5342],
    reflinks: true,
    hole_map: HoleMap::Trusted,
    preallocate: Preallocate::Pays,
    group_sync: GroupSync::Whole,
    removal: Removal { sequence: Sequence::ByInode, workers: 1, large_workers: 4 },
    ..LOCAL
};
