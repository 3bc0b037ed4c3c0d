//! The bulk of a copy from file to file, by several workers: the same bytes and the same records as
//! one after the other, for records of a file are counted and not seen.
//!
//! Whatever goes wrong here is left to the plain loop, which goes on from the last whole record
//! before it and says what is to be said.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_sys::data::{Allocate, fallocate, ftruncate, pread, pwrite};
use haul_sys::fs::{Kind, fstat, fstatfs};
use haul_sys::memory::AlignedBuffer;

use crate::fully::write_all;
use crate::quirk::{Preallocate, ReportedSize, of_magic};
use crate::retry::again;

/// Below this many bytes threads are not worth starting.
const WORTH_BYTES: u64 = 8 << 20;

/// Bytes that a worker draws at a time.
const STEP_BYTES: u64 = 2 << 20;

/// Bytes of one call: they stay in a core's second-level cache.
pub(super) const CALL_BYTES: usize = 256 << 10;

/// The most workers: they contend for two inodes' locks.
const WORKERS_MAX: usize = 4;

/// What becomes of what was written behind a place where something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// It is cut off: the target ends where it is written to.
    Cut,
    /// The target goes on there, so nothing may be written ahead of what is told.
    Kept,
}

/// A range of one file that goes to a range of another.
pub(super) struct Bulk<'a> {
    /// Where the bytes come from; a regular file.
    pub(super) source: BorrowedFd<'a>,
    /// Where they go; another regular file.
    pub(super) target: BorrowedFd<'a>,
    /// The first byte that is read.
    pub(super) source_offset: u64,
    /// Where it goes.
    pub(super) target_offset: u64,
    /// How many go.
    pub(super) bytes: u64,
    /// Bytes of a record, or of records that are whole on both sides.
    pub(super) unit: u64,
    /// What becomes of what was written too far.
    pub(super) behind: Behind,
}

/// Returns how many bytes from a position of one file to another may go in bulk: 0 where the plain
/// loop has to do it all.
pub(super) fn worth(source: BorrowedFd<'_>, target: BorrowedFd<'_>, offset: u64, most: u64) -> u64 {
    let (Ok(from), Ok(to)) = (fstat(source), fstat(target)) else { return 0 };
    let is_true = || {
        fstatfs(source)
            .is_ok_and(|system| of_magic(system.magic).reported_size != ReportedSize::Guessed)
    };
    if from.kind() != Kind::Regular || to.kind() != Kind::Regular || from.same_file(&to) {
        return 0;
    }
    let bytes = from.size.saturating_sub(offset).min(most);
    if bytes < WORTH_BYTES || !is_true() { 0 } else { bytes }
}

/// Copies, and returns how many bytes from the start on arrived without a gap, in whole units. `tick` is
/// called now and then with how many have arrived, and says whether to go on.
pub(super) fn copy(bulk: &Bulk<'_>, tick: &mut dyn FnMut(u64) -> bool) -> u64 {
    let quirk = fstatfs(bulk.target).map(|system| of_magic(system.magic));
    let may_cut = bulk.behind == Behind::Cut;
    if may_cut && quirk.is_ok_and(|quirk| quirk.preallocate == Preallocate::Pays) {
        // Where there is no room for all of it, the writes say so.
        let _tried = fallocate(bulk.target, bulk.target_offset, bulk.bytes, Allocate::KeepSize);
    }
    let shared = Shared {
        bulk,
        next: AtomicU64::new(0),
        // The last range waits for all others: an unfinished target is shorter than its source.
        end: (bulk.bytes - 1) / STEP_BYTES * STEP_BYTES,
        broken: AtomicU64::new(u64::MAX),
        moved: AtomicU64::new(0),
    };
    match bulk.behind {
        Behind::Cut => shared.by_several(tick),
        // What is no whole unit is left to the plain loop.
        Behind::Kept => {
            shared.range(0, bulk.bytes / bulk.unit * bulk.unit, tick);
        }
    }
    let whole = shared.broken.load(Ordering::Relaxed).min(bulk.bytes);
    let sound = whole / bulk.unit * bulk.unit;
    let end = bulk.target_offset + sound;
    if whole < bulk.bytes && may_cut && fstat(bulk.target).is_ok_and(|now| now.size >= end) {
        // What was written behind the last whole unit, and what was reserved.
        let _cut = ftruncate(bulk.target, end);
    }
    sound
}

struct Shared<'a> {
    bulk: &'a Bulk<'a>,
    next: AtomicU64,
    end: u64,
    /// The lowest offset at which something went wrong.
    broken: AtomicU64,
    moved: AtomicU64,
}

impl Shared<'_> {
    fn by_several(&self, tick: &mut dyn FnMut(u64) -> bool) {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| {
            for _ in 1..processors.min(WORKERS_MAX) {
                // Fewer workers do the same.
                let _started = std::thread::Builder::new().spawn_scoped(scope, || {
                    self.work(&mut |_| true);
                });
            }
            self.work(tick);
        });
        if self.broken.load(Ordering::Relaxed) == u64::MAX {
            self.range(self.end, self.bulk.bytes, tick);
        }
    }

    fn work(&self, tick: &mut dyn FnMut(u64) -> bool) {
        loop {
            let start = self.next.fetch_add(STEP_BYTES, Ordering::Relaxed);
            if start >= self.end || self.broken.load(Ordering::Relaxed) < start {
                return;
            }
            if !self.range(start, (start + STEP_BYTES).min(self.end), tick) {
                return;
            }
        }
    }

    /// Copies a range; `false` when something went wrong, or nobody wants more.
    fn range(&self, start: u64, end: u64, tick: &mut dyn FnMut(u64) -> bool) -> bool {
        // Where nothing may be written ahead, each call has whole units.
        let unit = usize::try_from(self.bulk.unit).unwrap_or(CALL_BYTES);
        let call_bytes = match self.bulk.behind {
            Behind::Cut => CALL_BYTES,
            Behind::Kept => (CALL_BYTES / unit).max(1) * unit,
        };
        let Ok(mut buffer) = AlignedBuffer::new(call_bytes) else {
            self.broken.fetch_min(start, Ordering::Relaxed);
            return false;
        };
        let mut at = start;
        while at < end {
            let goes_on = tick(self.moved.load(Ordering::Relaxed));
            let moved = if goes_on { self.step(&mut buffer, at, end) } else { None };
            let Some(moved) = moved else {
                self.broken.fetch_min(at, Ordering::Relaxed);
                return false;
            };
            self.moved.fetch_add(moved, Ordering::Relaxed);
            at += moved;
        }
        true
    }

    fn step(&self, buffer: &mut AlignedBuffer, at: u64, end: u64) -> Option<u64> {
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len());
        let filled = pread(self.bulk.source, buffer.get_mut(..most)?, self.bulk.source_offset + at);
        let least = if self.bulk.behind == Behind::Kept { most } else { 1 };
        let filled = filled.ok().filter(|filled| *filled >= least)?;
        let offset = self.bulk.target_offset + at;
        let (written, _) = write_all(buffer.get(..filled)?, |left, done| {
            again(|| pwrite(self.bulk.target, left, offset + done))
        });
        (written == filled as u64).then_some(written)
    }
}
