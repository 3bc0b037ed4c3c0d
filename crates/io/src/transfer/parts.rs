//! Parts of a file that other processes move.
//!
//! A part is drawn as ranges are, and its holder counts as a worker: the transfer ends after it has
//! come back. A part that did not arrive is drawn again by the workers of this process, which then
//! find out why. The range that ends the file is never in a part.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Draws, Transfer};
use crate::error::DataError;
use crate::job::FileJob;
use crate::method::{Sharing, Zeros};

/// Smallest and largest part. Opening the file, flushing the part and the messages take some twenty
/// requests to a server, which are a few percent of the time for the smallest; a worker that is
/// stopped completes its range, not its part.
const PART_BYTES: (u64, u64) = (16 << 20, 256 << 20);

/// Parts end at multiples of this, so that no two processes write to one stripe of Lustre or GPFS
/// with its usual size (1 to 16 MiB), for which they would exchange a lock.
const ALIGN_BYTES: u64 = 16 << 20;

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
            && !job.digests.is_some_and(crate::block_digests::BlockDigests::needs_order)
    }

    /// Takes a part for another process: about one of so many shares of what is left, from 16 to 256
    /// MiB. Returns `None` if less is left than is worth it. [`Transfer::return_part`] must follow.
    pub fn take_part(&self, job: &FileJob<'_>, shares: u64) -> Option<Range<u64>> {
        if !self.can_part(job) {
            return None;
        }
        let (smallest, largest) = PART_BYTES;
        let own = self.draw_bytes(job);
        let mut draws = self.lock();
        let left = draws.segments.left();
        let room = left.end.saturating_sub(left.start).saturating_sub(own);
        if room < smallest {
            return None;
        }
        let most = (room / shares.max(1)).clamp(smallest, largest).min(room);
        let stop = (left.start + most) / ALIGN_BYTES * ALIGN_BYTES;
        let bytes = if stop > left.start { stop - left.start } else { most };
        let part = self.draw_from(&mut draws, job, bytes)?;
        if draws.segments.is_doubted() {
            // What is read because a map was not believed may be holes.
            draws.put_back(&part, own);
            return None;
        }
        Some(part)
    }

    /// Takes back a part of [`Transfer::take_part`].
    pub fn return_part(&self, job: &FileJob<'_>, part: &Range<u64>, arrived: Arrived) {
        match arrived {
            Arrived::Yes => {
                self.moved.fetch_add(part.end - part.start, Ordering::Relaxed);
            }
            Arrived::No => self.lock().put_back(part, self.draw_bytes(job)),
        }
    }
}

impl Transfer {
    /// Ends the transfer because something about a part failed that was moved.
    pub fn fail_part(&self, part: &Range<u64>, error: DataError) {
        self.fail_at(part.start, error);
    }
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

    /// Returns the first byte that is known to be missing once all workers have come back.
    pub(super) fn first_gap(&self) -> Option<u64> {
        let gap = self.gap?;
        Some(self.remains.first_start().map_or(gap, |start| gap.min(start)))
    }
}
