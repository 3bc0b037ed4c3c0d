//! Large files, given up step by step, so that neighbours are not stalled by one long transaction.
//!
//! The kernel frees a file's pages and blocks when its last name and its last descriptor are gone,
//! in one go. So the name goes first, while we hold the file open; if that leaves a file without
//! names that nobody else has open, nobody can ever see what becomes of it, and it is cut from its
//! end in steps with rests between them. A file that others use keeps its bytes for them.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, OpenHow, Stat, close, fstat, is_open_here_alone, openat, unlinkat};

use super::run::Run;

/// A step: freed within some 5 ms where the pages are cached.
const STEP_BYTES: u64 = 32 << 20;

/// Removes a name; if that was a large file's last, gives the file up in steps.
pub(super) fn unlink(
    run: &Run<'_>,
    directory: BorrowedFd<'_>,
    (name, stat): (&CStr, &Stat),
) -> haul_sys::Result<()> {
    if stat.kind() != Kind::Regular || stat.nlink != 1 || stat.blocks * 512 < STEP_BYTES {
        return unlinkat(directory, name);
    }
    // What cannot be opened for writing is removed at once, like everything else.
    let held = openat(directory, name, OpenHow::WRITE).ok();
    unlinkat(directory, name)?;
    let Some(held) = held else { return Ok(()) };
    let Ok(now) = fstat(&held) else { return Ok(()) };
    if now.nlink == 0 && now.kind() == Kind::Regular && is_open_here_alone(&held) {
        let mut left = now.size;
        while left > STEP_BYTES && !run.stopped() {
            let begun = Instant::now();
            left -= STEP_BYTES;
            if ftruncate(&held, left).is_err() {
                break;
            }
            run.throttle.rest(begun.elapsed(), run.control.stop);
        }
    }
    // Nothing was written, so nothing can be lost by closing.
    let _nothing_lost = close(held);
    Ok(())
}
