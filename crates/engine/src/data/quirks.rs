//! The quirk of one file system.

use std::os::fd::BorrowedFd;

use haul_io::quirk::{self, Quirk};
use haul_sys::fs::fstatfs;

/// Returns the quirk of a descriptor's file system; that of an unknown one if `fstatfs` fails.
pub(crate) fn quirk_of(fd: BorrowedFd<'_>) -> &'static Quirk {
    fstatfs(fd).map_or(&quirk::UNKNOWN, |system| quirk::of_magic(system.magic))
}
