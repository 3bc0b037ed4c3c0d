//! Resuming a file that an earlier run began: what of it is as it was recorded, and what remains.
//!
//! A piece counts if its bytes, read again from storage, have the digest that was recorded when
//! they were written. Everything else is taken away first, so that nothing depends on what an
//! interrupted run or a power cut left there.

use std::collections::VecDeque;
use std::ops::Range;

use haul_sys::data::{Allocate, Way, fallocate, ftruncate, set_way};
use haul_sys::memory::AlignedBuffer;

use crate::digest::block_digests::Piece;
use crate::method::error::DataError;
use crate::system::fully::read_all;
use crate::system::kit::Watch;
use crate::verify::passage::Passage;
use crate::verify::verification::{UNIT_BYTES, Unverified};

/// The largest piece that is looked at: as large as a request can be.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the pieces of a file, in rising order, that are as they were recorded. The file's
/// digests says by which algorithm. Blocks until they are read or the run is stopped.
pub fn recheck(
    unverified: &Unverified<'_>,
    mut pieces: Vec<Piece>,
    watch: &Watch<'_>,
) -> Result<Vec<Piece>, DataError> {
    pieces.sort_unstable_by_key(|piece| piece.offset);
    let passage = Passage::prepare(unverified, watch)?;
    let kept = keep_true(unverified, &passage, &pieces, watch);
    // The descriptor goes on as it was: what comes next writes through the cache.
    set_way(unverified.fd, Way::Cached)?;
    kept
}

fn keep_true(
    unverified: &Unverified<'_>,
    passage: &Passage,
    pieces: &[Piece],
    watch: &Watch<'_>,
) -> Result<Vec<Piece>, DataError> {
    let mut kept: Vec<Piece> = Vec::new();
    let mut buffer = AlignedBuffer::new(UNIT_BYTES)?;
    for piece in pieces {
        if watch.stopped() {
            return Err(DataError::Stopped);
        }
        let begin = kept.last().map_or(0, |last| last.offset + last.bytes);
        let fits = piece.bytes > 0
            && piece.bytes <= MOST_BYTES
            && piece.offset >= begin
            && piece.offset + piece.bytes <= unverified.bytes;
        if fits && is_true(unverified, passage, piece, &mut buffer, watch)? {
            kept.push(*piece);
        }
    }
    Ok(kept)
}

fn is_true(
    unverified: &Unverified<'_>,
    passage: &Passage,
    piece: &Piece,
    buffer: &mut AlignedBuffer,
    watch: &Watch<'_>,
) -> Result<bool, DataError> {
    let bytes = usize::try_from(piece.bytes).map_err(|_| DataError::NoProgress)?;
    let room = bytes.next_multiple_of(UNIT_BYTES);
    if buffer.len() < room {
        *buffer = AlignedBuffer::new(room)?;
    }
    // Direct reads want whole units, so there is room behind the piece.
    let space = &mut buffer[..room];
    let (filled, error) = read_all(space, |left, done| {
        if done >= piece.bytes {
            return Ok(0);
        }
        passage.read_at(unverified.fd, left, piece.offset + done, watch)
    });
    if filled < piece.bytes {
        return error.map_or(Ok(false), |error| Err(error.into()));
    }
    let mut digest = unverified.digests.algorithm.start();
    digest.update(&buffer[..bytes]);
    Ok(piece.is(digest))
}

/// Takes everything out of a file but these pieces, which come in rising order; where a file system
/// makes no holes, also those behind the first gap. Returns the ranges that are left.
pub fn strip(unverified: &Unverified<'_>, pieces: &[Piece]) -> Result<Vec<Range<u64>>, DataError> {
    let mut ranges = joined(pieces);
    let mut end = 0;
    let mut whole = ranges.len();
    for (index, range) in ranges.iter().enumerate() {
        let gap = range.start - end;
        if gap > 0 && fallocate(unverified.fd, end, gap, Allocate::PunchHole).is_err() {
            whole = index;
            break;
        }
        end = range.end;
    }
    ranges.truncate(whole);
    ftruncate(unverified.fd, end)?;
    Ok(ranges)
}

/// Joins pieces that lie side by side.
fn joined(pieces: &[Piece]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for piece in pieces {
        let end = piece.offset + piece.bytes;
        match ranges.last_mut() {
            Some(last) if last.end == piece.offset => last.end = end,
            _ => ranges.push(piece.offset..end),
        }
    }
    ranges
}

/// What is left to be moved of the ranges that are drawn.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    done: Vec<Range<u64>>,
    /// Parts of the last range that are not done.
    left: VecDeque<Range<u64>>,
}

impl Remains {
    pub(crate) fn after(done: Vec<Range<u64>>) -> Remains {
        Remains { done, left: VecDeque::new() }
    }

    pub(crate) fn next(&mut self) -> Option<Range<u64>> {
        self.left.pop_front()
    }

    /// Lets a range that was drawn be drawn again.
    pub(crate) fn put_back(&mut self, range: Range<u64>) {
        self.left.push_back(range);
    }

    /// Returns where the first range begins that was drawn and is left.
    pub(crate) fn first_start(&self) -> Option<u64> {
        self.left.iter().map(|range| range.start).min()
    }

    /// Returns how many ranges were drawn and are left.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Takes a range that was drawn, and keeps what of it is not done.
    pub(crate) fn offer(&mut self, range: Range<u64>) {
        let pieces = self.not_done(&range);
        self.left.extend(pieces);
    }

    /// Returns what of a range is not done.
    pub(crate) fn not_done(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        let first = self.done.partition_point(|done| done.end <= range.start);
        for done in &self.done[first..] {
            if done.start >= range.end {
                break;
            }
            if done.start > at {
                pieces.push(at..done.start);
            }
            at = done.end;
        }
        if at < range.end {
            pieces.push(at..range.end);
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(done: &[(u64, u64)], range: Range<u64>) -> Vec<(u64, u64)> {
        let mut remains = Remains::after(done.iter().map(|(from, to)| *from..*to).collect());
        remains.offer(range);
        std::iter::from_fn(|| remains.next()).map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn what_is_done_is_not_drawn_again() {
        assert_eq!(left(&[], 0..10), [(0, 10)]);
        assert_eq!(left(&[(0, 10)], 0..10), []);
        assert_eq!(left(&[(2, 4), (6, 8)], 0..10), [(0, 2), (4, 6), (8, 10)]);
        assert_eq!(left(&[(0, 4), (8, 12)], 2..10), [(4, 8)]);
        assert_eq!(left(&[(0, 2), (20, 30)], 5..10), [(5, 10)]);
    }
}
