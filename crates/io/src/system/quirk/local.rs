//! File systems on devices of this machine that were not measured: their names and the little that is
//! certain. Numbers are those of `include/uapi/linux/magic.h` and of the file systems themselves.

use super::{ChangeTime, CopyRange, LOCAL, Quirk};

/// HFS+, NTFS, UDF, JFS, NILFS.
pub(super) static PLAIN: Quirk = Quirk {
    name: "local",
    magic: &[0x482b, 0x7366_746e, 0x1501_3346, 0x3153_464a, 0x3434],
    ..LOCAL
};

/// exFAT stores no time of change.
pub(super) static EXFAT: Quirk =
    Quirk { name: "exfat", magic: &[0x2011_bab0], change_time: ChangeTime::Free, ..LOCAL };

/// What is only read: ISO 9660, SquashFS, EROFS, cramfs, romfs. All times are those that the program which
/// built the image found or chose.
pub(super) static IMAGE: Quirk = Quirk {
    name: "image",
    magic: &[0x9660, 0x7371_7368, 0xe0f5_e1e2, 0x28cd_3d45, 0x7275],
    change_time: ChangeTime::Free,
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
