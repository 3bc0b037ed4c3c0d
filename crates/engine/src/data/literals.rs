//! Values for tests that use literals, defined once.

use haul_sys::fs::{Stat, Time};

use crate::names::file_systems::{FileSystemId, Identified};

/// Mode of a regular file.
pub(crate) const FILE: u32 = 0o100_644;
/// Mode of a directory.
pub(crate) const DIRECTORY: u32 = 0o040_755;
/// Mode of a symbolic link.
pub(crate) const LINK: u32 = 0o120_777;
/// Mode of a FIFO.
pub(crate) const FIFO: u32 = 0o010_600;

/// Returns the state of an empty file with one name, on device 1; all its times are [`TIME`].
pub(crate) const fn stat(ino: u64, mode: u32) -> Stat {
    Stat {
        dev: 1,
        ino,
        mode,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        blocks: 0,
        block_bytes: 4096,
        atime: TIME,
        mtime: TIME,
        ctime: TIME,
    }
}

/// A time in the past of every file system's clock, and not a whole second.
pub(crate) const TIME: Time = Time { seconds: 100, nanoseconds: 5 };

/// Returns a file as a record describes it, on one file system for all.
pub(crate) const fn identified(stat: &Stat) -> Identified<'_> {
    Identified { stat, on: FileSystemId::of_number(1) }
}
