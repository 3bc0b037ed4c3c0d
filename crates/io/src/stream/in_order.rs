//! Writing a stream's bytes in order, at a descriptor's position, until the run is stopped.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::data::write;
use haul_sys::process::Ready;

use crate::system::fully;
use crate::system::retry::when_ready_unless;
use crate::system::stream_error::StreamError;

/// Writes a buffer at the descriptor's position. Blocks until all bytes are written or `stop` is set,
/// also where the descriptor is in non-blocking mode and full.
pub fn write_all(fd: impl AsFd, bytes: &[u8], stop: &AtomicBool) -> Result<(), StreamError> {
    let (_, error) = write_stream(fd, bytes, stop);
    error.map_or(Ok(()), Err)
}

/// Writes as [`write_all`] does. Returns the number of bytes written, and the error that ended it.
pub(super) fn write_stream(
    fd: impl AsFd,
    bytes: &[u8],
    stop: &AtomicBool,
) -> (u64, Option<StreamError>) {
    let is_stopped = || stop.load(Ordering::Relaxed);
    fully::write_all(bytes, |left, done| {
        // A signal that interrupts a write which has begun leaves a short count and no error, and the
        // next write would wait for the reader again.
        if done > 0 && is_stopped() {
            return Err(StreamError::Stopped);
        }
        when_ready_unless(is_stopped, &fd, Ready::ToWrite, || write(&fd, left))
    })
}
