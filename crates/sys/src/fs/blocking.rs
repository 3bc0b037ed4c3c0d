//! `fcntl(F_SETFL, O_NONBLOCK)` — whether reads and writes of a descriptor wait:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>
//!
//! The flag belongs to the open file description: all processes that share it see the change.

use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::error::Named;
use crate::{Call, Result};

/// Whether calls wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// They wait until there are bytes or room.
    Yes,
    /// They answer `EAGAIN`.
    No,
}

/// Sets whether reads and writes wait.
pub fn set_blocking(fd: impl AsFd, blocking: Blocking) -> Result<()> {
    let flags = fcntl_getfl(&fd).named(Call::Fcntl)?;
    let wanted = match blocking {
        Blocking::Yes => flags - OFlags::NONBLOCK,
        Blocking::No => flags | OFlags::NONBLOCK,
    };
    if wanted == flags { Ok(()) } else { fcntl_setfl(&fd, wanted).named(Call::Fcntl) }
}

/// Returns whether reads and writes wait.
pub fn blocking(fd: impl AsFd) -> Result<Blocking> {
    let flags = fcntl_getfl(&fd).named(Call::Fcntl)?;
    Ok(if flags.contains(OFlags::NONBLOCK) { Blocking::No } else { Blocking::Yes })
}

/// Returns whether writes go to the end of the file, whatever the file offset (`O_APPEND`).
pub fn appends(fd: impl AsFd) -> Result<bool> {
    Ok(fcntl_getfl(&fd).named(Call::Fcntl)?.contains(OFlags::APPEND))
}

/// Adds flags to those of an open file description (`F_SETFL`).
pub fn add_flags(fd: impl AsFd, flags: OFlags) -> Result<()> {
    let now = fcntl_getfl(&fd).named(Call::Fcntl)?;
    if now.contains(flags) { Ok(()) } else { fcntl_setfl(&fd, now | flags).named(Call::Fcntl) }
}
