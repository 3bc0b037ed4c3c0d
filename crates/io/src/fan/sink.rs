//! Writing all of a buffer to a descriptor that may be anything.

use std::os::fd::AsFd;

use haul_sys::data::write;
use haul_sys::process::{Ready, wait_until};
use haul_sys::{Call, CallError, Errno, Result};

use crate::fully::again;

/// Writes all of it at the descriptor's position. Waits where somebody has made the descriptor
/// non-blocking and it is full, without asking again and again.
pub fn write_whole(fd: impl AsFd, bytes: &[u8]) -> Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        match again(|| write(&fd, left)) {
            // A device that takes nothing is full.
            Ok(0) => return Err(CallError::new(Call::Write, Errno::NOSPC)),
            Ok(count) => left = left.get(count..).unwrap_or(&[]),
            Err(error) if error.errno == Errno::AGAIN => {
                until_ready(&fd, Ready::ToWrite)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until a descriptor is ready, through as many signals as there are.
pub(super) fn until_ready(fd: impl AsFd, ready: Ready) -> Result<()> {
    loop {
        match wait_until(&fd, ready, None) {
            Ok(_) => return Ok(()),
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
        }
    }
}
