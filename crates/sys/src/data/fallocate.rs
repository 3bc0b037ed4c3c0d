//! `fallocate` — reserves or frees the space of a range:
//! <https://man7.org/linux/man-pages/man2/fallocate.2.html>

use std::os::fd::AsFd;

use rustix::fs::FallocateFlags;

use crate::error::Named;
use crate::{Call, Result};

/// The change to the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Space is reserved; the file size does not change.
    KeepSize,
    /// The range becomes a hole; the file size does not change.
    PunchHole,
}

/// Changes the allocation of a range; `EOPNOTSUPP` if the file system does not support it.
pub fn fallocate(fd: impl AsFd, offset: u64, bytes: u64, what: Allocate) -> Result<()> {
    let flags = match what {
        Allocate::KeepSize => FallocateFlags::KEEP_SIZE,
        Allocate::PunchHole => FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE,
    };
    rustix::fs::fallocate(fd, flags, offset, bytes).named(Call::Fallocate)
}
