//! Writing all of a buffer to a descriptor that may be anything.

use std::os::fd::AsFd;

use haul_sys::data::write;
use haul_sys::process::{Ready, wait_until};
use haul_sys::{Errno, Result};

use crate::fully::{again, write_all};

/// Writes all of it at the descriptor's position. Waits where somebody has made the descriptor
/// non-blocking and it is full, without asking again and again.
pub fn write_whole(fd: impl AsFd, bytes: &[u8]) -> Result<()> {
    let (_, trouble) = write_all(bytes, |left, _| {
        loop {
            match again(|| write(&fd, left)) {
                Err(error) if error.errno == Errno::AGAIN => until_ready(&fd, Ready::ToWrite)?,
                answer => return answer,
            }
        }
    });
    trouble.map_or(Ok(()), Err)
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
