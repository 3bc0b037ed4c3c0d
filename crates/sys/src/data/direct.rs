//! `fcntl(F_SETFL, O_DIRECT)` — lets a file's bytes go past the page cache, or no longer:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>
//!
//! The flag is the open file description's: duplicates of a descriptor have it too.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::error::Named;
use crate::{Call, Result};

/// Which way bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the page cache.
    Cached,
    /// Past it (`O_DIRECT`), with offsets, lengths and addresses that are aligned.
    Direct,
}

/// Sets the way of an open regular file, and clears `O_NONBLOCK`, which means nothing to its reads
/// and writes but that a ring must not wait for them. `EINVAL` where the file system has no other than the cache.
pub fn set_way(fd: impl AsFd, way: Way) -> Result<()> {
    let flags = fcntl_getfl(&fd).named(Call::Fcntl)?;
    let flags_now = flags;
    let flags = flags - OFlags::NONBLOCK;
    let wanted = match way {
        Way::Cached => flags - OFlags::DIRECT,
        Way::Direct => flags | OFlags::DIRECT,
    };
    if wanted == flags_now { Ok(()) } else { fcntl_setfl(&fd, wanted).named(Call::Fcntl) }
}
