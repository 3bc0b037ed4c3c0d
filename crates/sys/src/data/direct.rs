//! `fcntl(F_SETFL, O_DIRECT)` — switches direct I/O of a file on or off:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>
//!
//! The flag belongs to the open file description: duplicates of a descriptor have it too.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::error::Named;
use crate::{Call, Result};

/// The path that data take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the page cache.
    Cached,
    /// Direct (`O_DIRECT`), with aligned offsets, lengths and addresses.
    Direct,
}

/// Sets the path of an open regular file, and clears `O_NONBLOCK`, whose only effect on its reads
/// and writes is that a ring must not wait for them. Fails with `EINVAL` if the file system has no
/// direct I/O.
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
