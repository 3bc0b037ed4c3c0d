//! Segments: the ranges of a file that are worth moving.
//!
//! `SEEK_DATA` and `SEEK_HOLE` are asked only for files that have fewer blocks than bytes, and only
//! on file systems that are known to answer truly; everywhere else the bytes are read and runs of
//! zeros left out, which keeps holes without trusting a map. An answer that there is no more data
//! is checked against `st_blocks`: if more is allocated than the reported data explains, the rest of
//! the file is read.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::data::{seek_data, seek_hole};
use haul_sys::{Errno, Result};

/// The unit in which zeros become holes: the smallest block of every common file system. A file
/// system with larger blocks allocates the rest of the block and loses nothing.
pub(crate) const ZERO_BLOCK_BYTES: usize = 4096;

/// Where the data of a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// Everywhere, or unknown.
    Dense,
    /// Ask `SEEK_DATA` and `SEEK_HOLE`.
    Ask,
}

/// A last hole up to this size is read if a single allocated block is unexplained: that costs a few
/// milliseconds, and finds data that the map leaves out.
const CHEAP_HOLE_BYTES: u64 = 16 << 20;

/// Allocated bytes that a file system may use for its own records of a large file with holes, beyond
/// one part in [`RECORD_SHARE`] of the data: lists of extents, extended attributes, space reserved
/// behind the end.
const RECORD_BYTES: u64 = 64 << 10;

/// ext4 and XFS keep 250 to 340 extents of at least 4 KiB in a block of 4 KiB.
const RECORD_SHARE: u64 = 64;

/// Walks over the data of a file from front to back.
#[derive(Debug)]
pub(crate) struct Segments {
    map: Map,
    /// Allocated bytes of the file, as `stat` reported them.
    allocated: u64,
    /// Bytes of the data segments that the file system reported so far.
    reported: u64,
    /// Whether the file system said that there is no more data, and the allocated blocks disagree.
    doubted: bool,
    /// The next byte that was not handed out yet.
    at: u64,
    /// The data segment that `at` lies in.
    begin: u64,
    data_end: u64,
    /// The end of the file by its reported size.
    end: u64,
}

impl Segments {
    /// Starts at the first byte of a file of this size, for which so many bytes are allocated.
    #[must_use]
    pub(crate) const fn new(map: Map, file_bytes: u64, allocated: u64) -> Segments {
        let data_end = match map {
            Map::Dense => file_bytes,
            Map::Ask => 0,
        };
        Segments {
            map,
            allocated,
            reported: 0,
            doubted: false,
            at: 0,
            begin: 0,
            data_end,
            end: file_bytes,
        }
    }

    /// Starts at the first byte of a part of a file, of which every byte is wanted.
    #[must_use]
    pub(crate) const fn dense(part: Range<u64>) -> Segments {
        let mut segments = Segments::new(Map::Dense, part.end, 0);
        segments.at = part.start;
        segments
    }

    /// Returns the next range that holds data, at most `most` bytes, or `None` at the end.
    ///
    /// A file that shrinks meanwhile has an end before its reported one; what the answers mean is
    /// then for the caller to find out, by comparing sizes.
    pub(crate) fn next(&mut self, source: BorrowedFd<'_>, most: u64) -> Result<Option<Range<u64>>> {
        if self.at >= self.data_end && !self.find(source)? {
            return Ok(None);
        }
        let start = self.at;
        let stop = self.data_end.min(start.saturating_add(most.max(1)));
        self.at = stop;
        Ok(Some(start..stop))
    }

    /// Makes the next data segment the current one; `false` if there is none.
    fn find(&mut self, source: BorrowedFd<'_>) -> Result<bool> {
        if self.map == Map::Dense || self.at >= self.end {
            return Ok(false);
        }
        let start = match seek_data(source, self.at) {
            Ok(start) if start < self.end => start,
            Ok(_) => return Ok(self.finish()),
            Err(error) if error.errno == Errno::NXIO && self.is_plausible_end() => {
                return Ok(self.finish());
            }
            Err(error) if error.errno == Errno::NXIO => {
                self.doubted = true;
                // Counted as nothing: it was not reported.
                (self.begin, self.data_end) = (self.end, self.end);
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        let stop = match seek_hole(source, start) {
            // A hole that starts where data was said to be: the file changed in between.
            // Taking the rest as data is never wrong.
            Ok(stop) if stop > start => stop.min(self.end),
            Ok(_) => self.end,
            Err(error) if error.errno == Errno::NXIO => self.end,
            Err(error) => return Err(error),
        };
        // Whole blocks, so that direct requests stay aligned; what is added is read as zeros.
        let block = ZERO_BLOCK_BYTES as u64;
        self.at = (start / block * block).max(self.at);
        self.data_end = stop.next_multiple_of(block).min(self.end);
        self.begin = self.at;
        self.reported += self.data_end - self.begin;
        Ok(true)
    }

    /// Tells whether the allocated blocks allow that there is no data from here on. A file that has
    /// blocks and, by its map, no data at all is never believed.
    fn is_plausible_end(&self) -> bool {
        let unexplained = self.allocated.saturating_sub(self.reported);
        let is_cheap = self.reported == 0 || self.end - self.at <= CHEAP_HOLE_BYTES;
        let tolerated = if is_cheap { 0 } else { RECORD_BYTES + self.reported / RECORD_SHARE };
        unexplained <= tolerated
    }

    /// Returns the range from the next byte to the end of the file, holes included.
    #[must_use]
    pub(crate) const fn left(&self) -> Range<u64> {
        self.at..self.end
    }

    /// Tells whether the rest of the file is read because the file system's answer was not believed.
    #[must_use]
    pub(crate) const fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// Forgets what was reported of this byte and those behind it, so that they are asked for again.
    pub(crate) fn ask_again_from(&mut self, at: u64) {
        if self.map == Map::Ask {
            // What of the last segment lies behind that byte will be reported a second time.
            let again = self.data_end.saturating_sub(self.begin.max(at));
            self.reported = self.reported.saturating_sub(again);
            (self.begin, self.at, self.data_end) = (at, at, at);
        }
    }

    fn finish(&mut self) -> bool {
        (self.begin, self.at, self.data_end) = (self.end, self.end, self.end);
        false
    }
}

/// A run of bytes that are all zero, or not.
pub(crate) struct Run<'a> {
    /// The bytes.
    pub(crate) bytes: &'a [u8],
    /// Whether all of them are zero.
    pub(crate) zero: bool,
}

/// Splits bytes at the block boundaries of the file into runs of zero blocks and of others.
///
/// `offset` is where the bytes lie in the file: only whole, aligned blocks (and a last, short one)
/// count as zero, for a hole cannot be smaller.
pub(crate) fn zero_runs(bytes: &[u8], offset: u64) -> impl Iterator<Item = Run<'_>> {
    let mut left = bytes;
    let mut at = offset;
    std::iter::from_fn(move || {
        if left.is_empty() {
            return None;
        }
        let mut length = 0;
        let mut zero = None;
        while length < left.len() {
            let lead = usize::try_from((at + length as u64) % ZERO_BLOCK_BYTES as u64).unwrap_or(0);
            let block = (ZERO_BLOCK_BYTES - lead).min(left.len() - length);
            let piece = &left[length..length + block];
            let is_zero = lead == 0 && is_zero(piece);
            if zero.is_some_and(|zero| zero != is_zero) {
                break;
            }
            zero = Some(is_zero);
            length += block;
        }
        let (run, rest) = left.split_at_checked(length)?;
        left = rest;
        at += length as u64;
        Some(Run { bytes: run, zero: zero == Some(true) })
    })
}

/// Tells whether all bytes are zero; compares words, so that it is no slower than copying.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(bytes: &[u8], offset: u64) -> Vec<(usize, bool)> {
        zero_runs(bytes, offset).map(|run| (run.bytes.len(), run.zero)).collect()
    }

    #[test]
    fn zeros_count_in_whole_aligned_blocks() {
        let mut bytes = vec![0_u8; 3 * ZERO_BLOCK_BYTES];
        assert_eq!(runs(&bytes, 0), [(3 * ZERO_BLOCK_BYTES, true)]);
        bytes[ZERO_BLOCK_BYTES] = 1;
        let block = ZERO_BLOCK_BYTES;
        assert_eq!(runs(&bytes, 0), [(block, true), (block, false), (block, true)]);
    }

    #[test]
    fn an_unaligned_start_is_data_up_to_the_next_block() {
        let bytes = vec![0_u8; 2 * ZERO_BLOCK_BYTES];
        assert_eq!(runs(&bytes, 100)[0], (ZERO_BLOCK_BYTES - 100, false));
    }

    #[test]
    fn nothing_gives_no_runs() {
        assert!(runs(&[], 0).is_empty());
    }

    /// Returns what is reported of a file with this data whose map says that there is none from `at` on.
    fn end_at(at: u64, size: u64, reported: u64, allocated: u64) -> bool {
        let mut segments = Segments::new(Map::Ask, size, allocated);
        (segments.at, segments.reported) = (at, reported);
        segments.is_plausible_end()
    }

    #[test]
    fn an_end_of_data_is_believed_if_the_blocks_fit() {
        let (block, large) = (4096, 1 << 40);
        assert!(end_at(0, large, 0, 0), "a file without blocks has no data");
        assert!(!end_at(0, large, 0, 512), "a file with blocks and without data");
        assert!(end_at(block, large, block, block));
        assert!(end_at(block, large, block, 4 * block), "a block of the file system's own");
        assert!(!end_at(block, 8 * block, block, 2 * block), "a short hole is read");
        assert!(!end_at(block, large, block, 1 << 20), "a mebibyte is not in the map");
        assert!(end_at(1 << 30, large, 1 << 30, (1 << 30) + (1 << 22)));
        assert!(!end_at(1 << 30, large, 1 << 30, (1 << 30) + (1 << 25)));
    }

    #[test]
    fn a_segment_that_is_asked_for_again_counts_once() {
        let file = tempfile::tempfile().unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        file.set_len(64 << 20).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 8192], 32 << 20).unwrap();
        let mut segments = Segments::new(Map::Ask, 64 << 20, 8192);
        for _ in 0..3 {
            let found = segments.next(fd, u64::MAX).unwrap();
            assert_eq!(found, Some(32 << 20..(32 << 20) + 8192));
            assert_eq!(segments.reported, 8192);
            segments.ask_again_from(16 << 20);
        }
        assert_eq!(segments.reported, 0);
    }

    #[test]
    fn a_dense_file_is_cut_into_steps() {
        let file = tempfile::tempfile().unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let mut segments = Segments::new(Map::Dense, 10, 4096);
        assert_eq!(segments.next(fd, 4).unwrap(), Some(0..4));
        assert_eq!(segments.next(fd, 4).unwrap(), Some(4..8));
        assert_eq!(segments.next(fd, 4).unwrap(), Some(8..10));
        assert_eq!(segments.next(fd, 4).unwrap(), None);
    }
}
