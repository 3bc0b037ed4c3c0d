//! F2FS. A rename counts as durable after the next checkpoint, which `syncfs` writes.

use super::{Chattr, GroupSync, LOCAL, NameSync, Quirk};

pub(super) static QUIRK: Quirk = Quirk {
    name: "f2fs",
    magic: &[0xf2f5_2010],
    group_sync: GroupSync::Whole,
    name_sync: NameSync::FileSystem,
    chattr: Chattr::FlagsAndProject,
    ..LOCAL
};
