//! XFS. Reflinks when made with `-m reflink=1`, the default since xfsprogs 5.1; without it the
//! first refusal (EOPNOTSUPP) is remembered.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HolesTold, Pages, Preallocate, Quirk, SizeTold,
    Trips,
};

pub(super) static QUIRK: Quirk = Quirk {
    name: "xfs",
    magic: &[0x5846_5342],
    reflinks: true,
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
