//! Ranges of one file, each to a file of its own, by several workers.
//!
//! Blocks are shared where the file system can and the range is made of whole ones: then a file of
//! any size is split in an instant. Elsewhere pages go within the kernel. A piece is named before
//! the next one, by whichever worker draws it, so that names and messages come in order.

use std::num::NonZero;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use haul_sys::data::{Allocate, fallocate, ficlone_range, pread, sendfile};
use haul_sys::fs::fstat;
use haul_sys::{CallError, Errno};

use crate::errno::{Verdict, verdict};
use crate::fully::write_whole;
use crate::kit::BUFFER_BYTES;
use crate::retry::again;

/// From this size on sharing blocks costs less than copying them.
const SHARE_BYTES: u64 = 32 << 10;

/// From this size on space is reserved before writing, see [`crate::transfer`].
const PREALLOCATE_BYTES: u64 = 4 << 20;

/// What offsets must be a multiple of for blocks to be shared; larger blocks answer `EINVAL`.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of one call.
const STEP_BYTES: u64 = 4 << 20;

/// Below this a second worker is not worth waking.
const WORTH_BYTES: u64 = 8 << 20;

/// What was learned about moving ranges of this source.
#[derive(Debug, Default)]
pub struct Ways {
    no_sharing: AtomicBool,
    no_sendfile: AtomicBool,
    no_allocation: AtomicBool,
}

/// Why a range did not arrive, as far as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// All of it did.
    All,
    /// The source ended before, for it became shorter.
    Shrank,
    /// The source could not be read.
    Unread(Errno),
    /// The target could not be written.
    Unwritten(Errno),
}

/// Moves a range of a file to the beginning of an empty file.
pub fn move_range(source: impl AsFd, range: Range<u64>, target: impl AsFd, ways: &Ways) -> Moved {
    let (source, target) = (source.as_fd(), target.as_fd());
    let bytes = range.end - range.start;
    match share(source, &range, target, ways) {
        Ok(true) => return Moved::All,
        Ok(false) => {}
        Err(error) => return blamed(error),
    }
    if bytes >= PREALLOCATE_BYTES && !ways.no_allocation.load(Ordering::Relaxed) {
        let reserved = again(|| fallocate(target, 0, bytes, Allocate::KeepSize));
        match reserved.map_err(|error| (verdict(error.call, error.errno), error.errno)) {
            Ok(()) => {}
            // Only the speed differs.
            Err((Verdict::NextMethod(_), _)) => ways.no_allocation.store(true, Ordering::Relaxed),
            Err((Verdict::Retry | Verdict::Fail, errno)) => return Moved::Unwritten(errno),
        }
    }
    let mut offset = range.start;
    while offset < range.end && !ways.no_sendfile.load(Ordering::Relaxed) {
        let step = usize::try_from((range.end - offset).min(STEP_BYTES)).unwrap_or(BUFFER_BYTES);
        match again(|| sendfile(source, offset, target, step)) {
            Ok(0) => return ended(source, range.end),
            Ok(count) => offset += count as u64,
            Err(error) => match verdict(error.call, error.errno) {
                Verdict::NextMethod(_) => ways.no_sendfile.store(true, Ordering::Relaxed),
                Verdict::Retry | Verdict::Fail => return blamed(error),
            },
        }
    }
    through_buffer(source, offset..range.end, target)
}

/// Tells why a source ended before the end of a range. One that has that size all the same never had
/// as many bytes.
fn ended(source: BorrowedFd<'_>, end: u64) -> Moved {
    match fstat(source) {
        Ok(stat) if stat.size < end => Moved::Shrank,
        Ok(_) => Moved::All,
        Err(error) => Moved::Unread(error.errno),
    }
}

/// Tells which side a failed call on both is about, which the kernel does not say.
fn blamed(error: CallError) -> Moved {
    match error.errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::PIPE | Errno::ROFS => {
            Moved::Unwritten(error.errno)
        }
        other => Moved::Unread(other),
    }
}

/// Shares the blocks of a range; `false` where the table says that they are to be copied.
fn share(
    source: BorrowedFd<'_>,
    range: &Range<u64>,
    target: BorrowedFd<'_>,
    ways: &Ways,
) -> Result<bool, CallError> {
    let bytes = range.end - range.start;
    let is_whole = range.start.is_multiple_of(BLOCK_BYTES) && bytes.is_multiple_of(BLOCK_BYTES);
    if bytes < SHARE_BYTES || !is_whole || ways.no_sharing.load(Ordering::Relaxed) {
        return Ok(false);
    }
    match again(|| ficlone_range(source, range.start, bytes, target, 0)) {
        Ok(()) => Ok(true),
        Err(error) => match verdict(error.call, error.errno) {
            Verdict::NextMethod(_) => {
                // All ranges are of one file: what it refuses once, it refuses again.
                ways.no_sharing.store(true, Ordering::Relaxed);
                Ok(false)
            }
            Verdict::Retry | Verdict::Fail => Err(error),
        },
    }
}

fn through_buffer(source: BorrowedFd<'_>, range: Range<u64>, target: BorrowedFd<'_>) -> Moved {
    if range.is_empty() {
        return Moved::All;
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut offset = range.start;
    while offset < range.end {
        let step = usize::try_from(range.end - offset).unwrap_or(usize::MAX).min(buffer.len());
        let room = buffer.get_mut(..step).unwrap_or(&mut []);
        let filled = match again(|| pread(source, &mut *room, offset)) {
            Ok(0) => return ended(source, range.end),
            Ok(filled) => filled,
            Err(error) => return Moved::Unread(error.errno),
        };
        if let Err(error) = write_whole(target, room.get(..filled).unwrap_or(&[])) {
            return Moved::Unwritten(error.errno);
        }
        offset += filled as u64;
    }
    Moved::All
}

/// Moves ranges to files of their own. `make` names and opens the next one's file, in order, or ends
/// the run; `done` is told of each file when its bytes are there.
///
/// The first failure ends everything; what is being moved is finished.
pub fn move_ranges<E: Send, T: AsFd + Send>(
    source: BorrowedFd<'_>,
    total_bytes: u64,
    make: &mut (dyn FnMut() -> Result<Option<(Range<u64>, T)>, E> + Send),
    done: &(dyn Fn(T, Moved) -> Result<(), E> + Sync),
) -> Result<(), E> {
    let ways = Ways::default();
    let make = Mutex::new(make);
    let failure: Mutex<Option<E>> = Mutex::new(None);
    let ended = AtomicBool::new(false);
    let fail = |error| {
        ended.store(true, Ordering::Relaxed);
        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    };
    let work = || {
        while !ended.load(Ordering::Relaxed) {
            let drawn = (make.lock().unwrap_or_else(PoisonError::into_inner))();
            let (range, target) = match drawn {
                Ok(Some(drawn)) => drawn,
                Ok(None) => break,
                Err(error) => return fail(error),
            };
            let moved = move_range(source, range, &target, &ways);
            if let Err(error) = done(target, moved) {
                fail(error);
            }
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let helpers = if total_bytes < WORTH_BYTES { 0 } else { processors - 1 };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where no more threads are allowed it goes on with those there are.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
