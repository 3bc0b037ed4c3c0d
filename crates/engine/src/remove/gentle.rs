//! Removes large files step by step, so that one long transaction does not stall other processes.
//!
//! The kernel frees all pages and blocks of a file at once, when its last name is removed and its
//! last descriptor is closed. So the worker opens the file and removes the name first. If the file
//! then has no name and no other process has it open, no process can observe its content. The
//! worker truncates it from the end in steps, and rests between them as the machine asks for. A file that other
//! processes use keeps its content.

use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, OpenHow, Stat, close, fstat, is_open_here_alone, openat, unlinkat};

use super::node::Entry;
use super::run::Run;

/// Bytes of one step: freed within some 5 ms if the pages are cached.
const STEP_BYTES: u64 = 32 << 20;

/// Removes a name. If it was the last name of a large file, frees the file in steps.
pub(super) fn unlink(run: &Run<'_>, entry: Entry<'_>, stat: &Stat) -> haul_sys::Result<()> {
    let Entry { directory, name, .. } = entry;
    if stat.kind() != Kind::Regular || stat.nlink != 1 || stat.blocks * 512 < STEP_BYTES {
        return unlinkat(directory, name);
    }
    // A file that cannot be opened for writing is removed in one step.
    let held = openat(directory, name, OpenHow::WRITE).ok();
    unlinkat(directory, name)?;
    let Some(held) = held else { return Ok(()) };
    let Ok(now) = fstat(&held) else { return Ok(()) };
    if now.nlink == 0 && now.kind() == Kind::Regular && is_open_here_alone(&held) {
        let mut left = now.size;
        while left > STEP_BYTES && !run.stopped() {
            left -= STEP_BYTES;
            if ftruncate(&held, left).is_err() {
                break;
            }
            run.rest();
        }
    }
    // The descriptor was not written to, so an error of close loses no data.
    let _nothing_lost = close(held);
    Ok(())
}
