//! File systems on devices of this machine that nobody has measured: their names and the little that
//! is certain. Numbers are those of `include/uapi/linux/magic.h` and of the file systems themselves.

use super::{
    CachedWrites, CopyRange, DirectIo, GroupSync, HoleMap, Latency, Pages, Preallocate, Quirk,
    ReportedSize,
};

/// FAT, exFAT, HFS+, NTFS, UDF, JFS, NILFS, F2FS, and what is only read: ISO 9660, SquashFS, EROFS.
pub(super) static PLAIN: Quirk = Quirk {
    name: "local",
    magic: &[
        0x4d44,
        0x2011_bab0,
        0x482b,
        0x7366_746e,
        0x1501_3346,
        0x3153_464a,
        0x3434,
        0xf2f5_2010,
        0x9660,
        0x7371_7368,
        0xe0f5_e1e2,
    ],
    ..LOCAL
};

/// ZFS and bcachefs: `copy_file_range` shares blocks.
pub(super) static SHARING: Quirk = Quirk {
    name: "local, sharing blocks",
    magic: &[0x2fc1_2fc1, 0xca45_1a4e],
    reflinks: true,
    copy_range: CopyRange::Offloads,
    ..LOCAL
};

const LOCAL: Quirk = Quirk {
    name: "",
    magic: &[],
    reflinks: false,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Doubted,
    // FAT's space that is reserved beyond the end is given back when the file is closed.
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Short,
};
