//! Waiting for a descriptor that does not block.

use std::os::fd::BorrowedFd;

use haul_sys::process::{Ready, wait_until};
use haul_sys::{Call, CallError, Errno};

use super::block::LOOK;
use super::error::StreamError;

/// Waits a moment for a descriptor that is not ready; the caller tries again in any case.
pub(super) fn wait_for(fd: BorrowedFd<'_>, ready: Ready) -> Result<(), StreamError> {
    match wait_until(fd, ready, Some(LOOK)) {
        Err(error) if error.errno != Errno::INTR => {
            Err(StreamError::Call(CallError::new(Call::Poll, error.errno)))
        }
        _ => Ok(()),
    }
}
