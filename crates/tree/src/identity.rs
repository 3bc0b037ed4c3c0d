//! The identity of a file, and the check that an open directory is the one that was seen before.

use std::os::fd::OwnedFd;

use haul_sys::fs::{Stat, fstat};
use haul_sys::{Call, CallError, Errno, Result};

/// Device and inode number of a file.
pub type Identity = (u64, u64);

/// Returns the identity of a file.
#[must_use]
pub const fn identity(stat: &Stat) -> Identity {
    (stat.dev, stat.ino)
}

/// Returns a descriptor that refers to the expected file.
///
/// Fails with `ESTALE` if the descriptor refers to another file, or with the error of `fstat`.
pub fn verified(fd: OwnedFd, expected: Identity) -> Result<OwnedFd> {
    if identity(&fstat(&fd)?) == expected {
        Ok(fd)
    } else {
        Err(CallError::new(Call::Openat, Errno::STALE))
    }
}
