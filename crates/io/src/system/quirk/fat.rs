//! FAT (`MSDOS_SUPER_MAGIC`). Space that is reserved beyond the end is given back when the file is
//! closed, so reserving costs and gains nothing.

use super::{ChangeTime, Extension, Inode, LOCAL, Quirk};

pub(super) static QUIRK: Quirk = Quirk {
    name: "fat",
    magic: &[0x4d44],
    inode: Inode::Fat,
    extension: Extension::MayFill,
    change_time: ChangeTime::Free,
    file_bytes_max: u32::MAX as u64,
    ..LOCAL
};
