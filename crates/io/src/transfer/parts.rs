//! Parts of a file that other processes move.
//!
//! A part is drawn as ranges are, and its holder counts as a worker: the transfer ends after it has
//! come back. A part that did not arrive is drawn again by the workers of this process, which then
//! find out why. The range that ends the file is never in a part.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Draws, Transfer};
use crate::method::error::DataError;
use crate::method::job::FileJob;
use crate::method::policy::DataPolicy;
use crate::method::{Sharing, Zeros};

/// Smallest and largest part. A worker that is stopped completes its range, not its part.
const PART_BYTES: (u64, u64) = (16 << 20, 256 << 20);

/// Ranges that each worker of the other process moves of the smallest part, at least, where each is a
/// request to a server. The flush of the part keeps them all waiting, and the check that it arrived takes
/// some requests of this process.
const LEAST_RANGES: u64 = 4;

/// Upper limit of the smallest part: while one process moves it, the others may have nothing left to do.
const LEAST_BYTES_MAX: u64 = 64 << 20;

/// Parts for each process that a file has at least, however many workers there are.
const LEAST_PARTS: u64 = 2;

/// Parts end at multiples of this, so that no two processes write to one stripe of Lustre or GPFS
/// with its usual size (1 to 16 MiB), for which they would exchange a lock.
const ALIGN_BYTES: u64 = 16 << 20;

/// Ranges that wait to be drawn again, from which on no part is taken: a part that comes back undone
/// has at most 128 of them.
const LEFT_RANGES: usize = 64;

/// Whether the bytes of a part have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// All of them are on stable storage.
    Yes,
    /// Some are not, for whatever reason.
    No,
}

impl Transfer {
    /// Returns whether other processes can move parts: a part has data alone, so zeros that are to
    /// become holes stay here, as do bytes that one digest takes in order.
    #[must_use]
    pub fn can_part(&self, job: &FileJob<'_>) -> bool {
        self.sharing == Sharing::Several
            && self.shape.zeros == Zeros::Write
            && job.extent.is_none()
            && !job.digests.is_some_and(crate::digest::block_digests::BlockDigests::needs_order)
    }

    /// Returns the size of the smallest part for so many processes with so many workers each: from 16 to
    /// 64 MiB.
    #[must_use]
    pub fn least_part(&self, job: &FileJob<'_>, workers: u64, processes: u64) -> u64 {
        if !job.pair.is_remote() {
            return PART_BYTES.0;
        }
        let ranges = LEAST_RANGES.saturating_mul(workers);
        let most = job.bytes() / processes.saturating_mul(LEAST_PARTS).max(1);
        least_for(ranges.saturating_mul(self.draw_bytes(job)), most)
    }

    /// Returns whether enough is left for a part of at least so many bytes. What came back is moved here
    /// first.
    #[must_use]
    pub fn has_part(&self, job: &FileJob<'_>, least: u64) -> bool {
        let own = self.draw_bytes(job);
        self.can_part(job) && !self.is_over() && self.draws.lock().room(own) >= least
    }

    /// Takes a part for another process: about one of so many shares of what is left, from `least`,
    /// which [`Transfer::least_part`] returned, to 256 MiB of data. Returns `None` if there is none.
    /// [`Transfer::return_part`] must follow.
    pub fn take_part(&self, job: &FileJob<'_>, shares: u64, least: u64) -> Option<Range<u64>> {
        if !self.has_part(job, least) {
            return None;
        }
        let (smallest, largest) = PART_BYTES;
        let own = self.draw_bytes(job);
        let mut draws = self.draws.lock();
        let room = draws.room(own);
        let at = draws.segments.left().start;
        let share = (room / shares.max(1)).clamp(least, largest);
        let bound = (at + largest.min(room)) / ALIGN_BYTES * ALIGN_BYTES;
        // Rounded up: what rounding down leaves of a smallest share is too small for a part.
        let stop = (at + share).next_multiple_of(ALIGN_BYTES).min(bound);
        let bytes = if stop > at { stop - at } else { room };
        // An error ends the transfer when a worker meets it.
        let mut range = draws.segments.next(job.source, bytes).ok()??;
        let end = job.wanted().end;
        if range.end == end {
            // A hole was before it. The last piece is written when everything else is there.
            range.end = ((end - 1) / own * own).max(range.start);
            draws.tail = Some(range.end..end);
        }
        let is_doubted = draws.segments.is_doubted();
        let mut parts = draws.remains.not_done(&range).into_iter();
        let is_whole = |part: &Range<u64>| {
            let unit = DataPolicy::IO_UNIT as u64;
            part.end - part.start >= smallest
                && part.start.is_multiple_of(unit)
                && part.end.is_multiple_of(unit)
        };
        // What is read because a map was not believed may be holes.
        let part = parts.next().filter(|part| {
            let goes = !is_doubted && is_whole(part);
            if !goes {
                draws.put_back(part, own);
            }
            goes
        });
        parts.for_each(|left| draws.put_back(&left, own));
        part
    }

    /// Takes back a part of [`Transfer::take_part`].
    pub fn return_part(&self, job: &FileJob<'_>, part: &Range<u64>, arrived: Arrived) {
        match arrived {
            Arrived::Yes => {
                self.moved.fetch_add(part.end - part.start, Ordering::Relaxed);
            }
            Arrived::No => self.draws.lock().put_back(part, self.draw_bytes(job)),
        }
    }
}

impl Transfer {
    /// Ends the transfer because something about a part failed that was moved.
    pub fn fail_part(&self, part: &Range<u64>, error: DataError) {
        self.fail_at(part.start, error);
    }
}

/// Returns the size of the smallest part, which should have so many bytes, and at most so many.
fn least_for(bytes: u64, most: u64) -> u64 {
    let up = bytes.min(LEAST_BYTES_MAX).next_multiple_of(ALIGN_BYTES);
    up.min(most / ALIGN_BYTES * ALIGN_BYTES).max(PART_BYTES.0)
}

impl Draws {
    /// Lets a range be drawn again, in pieces of at most this many bytes.
    fn put_back(&mut self, range: &Range<u64>, most: u64) {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at.saturating_add(most.max(1)));
            self.remains.put_back(at..end);
            at = end;
        }
    }

    /// Returns how many bytes parts may have: what was not drawn, but for what the workers of this
    /// process need to end with. 0 while much is to be drawn again.
    fn room(&self, own: u64) -> u64 {
        let left = self.segments.left();
        let is_full = self.remains.left() > LEFT_RANGES || self.segments.is_doubted();
        if is_full { 0 } else { left.end.saturating_sub(left.start).saturating_sub(own) }
    }

    /// Returns the first byte that is known to be missing once all workers have come back.
    pub(super) fn first_gap(&self) -> Option<u64> {
        self.gap.into_iter().chain(self.remains.first_start()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smallest_part_has_16_to_64_mib_and_leaves_each_process_two() {
        const MIB: u64 = 1 << 20;
        for (wanted, most, expected) in [
            (0, 1024, 16),
            (4, 1024, 16),
            (20, 1024, 32),
            (32, 1024, 32),
            (36, 1024, 48),
            (128, 1024, 64),
            (128, 63, 48),
            (128, 32, 32),
            (20, 31, 16),
            (128, 0, 16),
        ] {
            let least = least_for(wanted * MIB, most * MIB);
            assert_eq!(least, expected * MIB, "{wanted} MiB, {most} MiB");
        }
        assert_eq!(least_for(u64::MAX, u64::MAX), 64 * MIB);
    }
}
