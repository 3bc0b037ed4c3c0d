//! Filling a block from a descriptor: a pipe gives little at a time, and storage wants much.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_sys::Errno;
use haul_sys::data::read;
use haul_sys::process::{Ready, wait_until};

use super::block::Block;
use crate::system::fully::read_all;
use crate::system::gentle;
use crate::system::retry::when_ready_unless;
use crate::system::stream_error::StreamError;

/// How long a thread that no signal wakes waits for input before it checks whether it should stop:
/// a person does not notice it, and ten checks a second cost nothing.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// Reads until the block is full or the input ends; a block that stays empty is the end. Blocks, also
/// where the descriptor is in non-blocking mode. After an error the block holds what was read before.
pub fn fill(
    source: BorrowedFd<'_>,
    block: &mut Block,
    stop: &AtomicBool,
) -> Result<(), StreamError> {
    fill_unless(|| stop.load(Ordering::Relaxed), source, block, || Ok(true))
}

/// Fills a block as [`fill`] does, on a thread that signals need not interrupt: it begins no read that
/// could block, so that it notices within 100 ms that `stop` is set or that `is_wanted` returns false.
pub fn fill_while(
    source: BorrowedFd<'_>,
    block: &mut Block,
    stop: &AtomicBool,
    is_wanted: impl Fn() -> bool,
) -> Result<(), StreamError> {
    let is_stopped = || stop.load(Ordering::Relaxed) || !is_wanted();
    fill_unless(is_stopped, source, block, || {
        if is_stopped() {
            return Err(StreamError::Stopped);
        }
        match wait_until(source, Ready::ToRead, Some(STOP_CHECK)) {
            Err(error) if error.errno == Errno::INTR => Ok(false),
            answer => Ok(answer?),
        }
    })
}

/// Fills a block; `is_ready` waits before each read and returns whether the read may begin.
fn fill_unless(
    is_stopped: impl Fn() -> bool,
    source: BorrowedFd<'_>,
    block: &mut Block,
    is_ready: impl Fn() -> Result<bool, StreamError>,
) -> Result<(), StreamError> {
    let room = block.own_room()?;
    let (filled, error) = read_all(room, |left, _| {
        while !gentle::elsewhere(&is_ready)? {}
        when_ready_unless(&is_stopped, source, Ready::ToRead, || read(source, &mut *left))
    });
    block.set_filled(0..usize::try_from(filled).unwrap_or(0));
    error.map_or(Ok(()), Err)
}
