//! `futimens` — sets access and modification times in nanoseconds:
//! <https://man7.org/linux/man-pages/man2/utimensat.2.html>

use std::os::fd::AsFd;

use rustix::fs::{Timespec, Timestamps};

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
    pub(crate) fn raw(self) -> Timestamps {
        let raw =
            |time: Time| Timespec { tv_sec: time.seconds, tv_nsec: i64::from(time.nanoseconds) };
        Timestamps { last_access: raw(self.atime), last_modification: raw(self.mtime) }
    }
}

/// Sets the times of an open file. A file system clamps times that it cannot represent.
pub fn futimens(fd: impl AsFd, times: TimePair) -> Result<()> {
    rustix::fs::futimens(fd, &times.raw()).named(Call::Utimensat)
}
