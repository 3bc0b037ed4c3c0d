//! `futimens`, `utimensat` — set access and modification times in nanoseconds:
//! <https://man7.org/linux/man-pages/man2/utimensat.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Timespec, Timestamps};

use crate::error::Named;
use crate::fs::Time;
use crate::{Call, Result};

/// The two times that a program can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimePair {
    /// The last access.
    pub atime: Time,
    /// The last change of the data.
    pub mtime: Time,
}

impl TimePair {
    fn raw(self) -> Timestamps {
        let raw =
            |time: Time| Timespec { tv_sec: time.seconds, tv_nsec: i64::from(time.nanoseconds) };
        Timestamps { last_access: raw(self.atime), last_modification: raw(self.mtime) }
    }
}

/// Sets the times of an open file. A file system clamps what it cannot represent.
pub fn futimens(fd: impl AsFd, times: TimePair) -> Result<()> {
    rustix::fs::futimens(fd, &times.raw()).named(Call::Utimensat)
}

/// Sets the times of a name, of the link itself if it is one.
pub fn utimensat_nofollow(directory: impl AsFd, name: &CStr, times: TimePair) -> Result<()> {
    rustix::fs::utimensat(directory, name, &times.raw(), AtFlags::SYMLINK_NOFOLLOW)
        .named(Call::Utimensat)
}
