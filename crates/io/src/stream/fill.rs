//! Filling a block from a descriptor: a pipe gives little at a time, and storage wants much.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_sys::Errno;
use haul_sys::data::read;
use haul_sys::process::{Ready, wait_until};

use super::block::Block;
use super::error::StreamError;
use super::ready::wait_for;
use crate::fully::again_while;

/// How long a thread that no signal wakes waits for input before it looks whether it still should:
/// a person does not notice it, and ten looks a second cost nothing.
const LOOK: Duration = Duration::from_millis(100);

/// Reads until the block is full or the input ends; a block that stays empty is the end. What does
/// not block is waited for. After an error the block holds what was read before it.
pub fn fill(
    source: BorrowedFd<'_>,
    block: &mut Block,
    stop: &AtomicBool,
) -> Result<(), StreamError> {
    fill_after(source, block, stop, || Ok(()))
}

/// The same on a thread that need not be the one that signals interrupt: no read is begun that could
/// block, so that a stop, or nobody wanting more, is heard within a moment.
pub fn fill_while(
    source: BorrowedFd<'_>,
    block: &mut Block,
    stop: &AtomicBool,
    is_wanted: impl Fn() -> bool,
) -> Result<(), StreamError> {
    fill_after(source, block, stop, || {
        loop {
            if stop.load(Ordering::Relaxed) || !is_wanted() {
                return Err(StreamError::Stopped);
            }
            match wait_until(source, Ready::ToRead, Some(LOOK)) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if error.errno == Errno::INTR => {}
                Err(error) => return Err(StreamError::Call(error)),
            }
        }
    })
}

fn fill_after(
    source: BorrowedFd<'_>,
    block: &mut Block,
    stop: &AtomicBool,
    mut before: impl FnMut() -> Result<(), StreamError>,
) -> Result<(), StreamError> {
    let mut filled = 0;
    let answer = loop {
        let room = block.room().and_then(|room| room.get_mut(filled..)).unwrap_or(&mut []);
        if room.is_empty() {
            break Ok(());
        }
        if let Err(trouble) = before() {
            break Err(trouble);
        }
        match again_while(|| !stop.load(Ordering::Relaxed), || read(source, &mut *room)) {
            Ok(0) => break Ok(()),
            Ok(count) => filled += count,
            Err(_) if stop.load(Ordering::Relaxed) => break Err(StreamError::Stopped),
            Err(error) if error.errno == Errno::AGAIN => {
                if let Err(trouble) = wait_for(source, Ready::ToRead) {
                    break Err(trouble);
                }
            }
            Err(error) => break Err(StreamError::Call(error)),
        }
    };
    block.set_filled(0..filled);
    answer
}
