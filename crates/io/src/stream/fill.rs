//! Filling a block from a descriptor: a pipe gives little at a time, and storage wants much.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::Errno;
use haul_sys::data::read;
use haul_sys::process::Ready;

use super::block::Block;
use super::reader::wait_for;
use super::trouble::Trouble;

/// Reads until the block is full or the input ends; a block that stays empty is the end. What does
/// not block is waited for. After an error the block holds what was read before it.
pub fn fill(source: BorrowedFd<'_>, block: &mut Block, stop: &AtomicBool) -> Result<(), Trouble> {
    let mut filled = 0;
    let answer = loop {
        let room = block.room().and_then(|room| room.get_mut(filled..)).unwrap_or(&mut []);
        if room.is_empty() {
            break Ok(());
        }
        match read(source, room) {
            Ok(0) => break Ok(()),
            Ok(count) => filled += count,
            Err(_) if stop.load(Ordering::Relaxed) => break Err(Trouble::Stopped),
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) if error.errno == Errno::AGAIN => {
                if let Err(trouble) = wait_for(source, Ready::ToRead) {
                    break Err(trouble);
                }
            }
            Err(error) => break Err(Trouble::Call(error)),
        }
    };
    block.set_filled(0..filled);
    answer
}
