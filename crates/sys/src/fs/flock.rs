//! `flock` — a lock on an open file, released with its last descriptor:
//! <https://man7.org/linux/man-pages/man2/flock.2.html>

use std::os::fd::AsFd;

use rustix::fs::FlockOperation;

use crate::error::Named;
use crate::{Call, Errno, Result};

/// Takes an exclusive lock on a file without waiting; returns `false` if another process holds a
/// lock.
pub fn try_lock(fd: impl AsFd) -> Result<bool> {
    try_flock(fd, FlockOperation::NonBlockingLockExclusive)
}

/// Takes an exclusive lock on a file; waits for other processes that hold a lock. A signal handler
/// ends the wait with `EINTR`.
pub fn lock(fd: impl AsFd) -> Result<()> {
    rustix::fs::flock(fd, FlockOperation::LockExclusive).named(Call::Flock)
}

/// Takes a shared lock on a file without waiting; returns `false` if another process holds it
/// exclusively.
pub fn try_lock_shared(fd: impl AsFd) -> Result<bool> {
    try_flock(fd, FlockOperation::NonBlockingLockShared)
}

/// Releases a lock now. Closing the descriptor releases it only when no copy of it is left, and a
/// process that another thread has just forked has one until it calls `execve` (flock(2)).
pub fn unlock(fd: impl AsFd) -> Result<()> {
    rustix::fs::flock(fd, FlockOperation::Unlock).named(Call::Flock)
}

fn try_flock(fd: impl AsFd, operation: FlockOperation) -> Result<bool> {
    match rustix::fs::flock(fd, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        answer => answer.map(|()| true).named(Call::Flock),
    }
}
