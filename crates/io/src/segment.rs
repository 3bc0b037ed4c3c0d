//! Segments: the ranges of a file that are worth moving.
//!
//! `SEEK_DATA` and `SEEK_HOLE` are asked only for files that have fewer blocks than bytes, and only
//! on file systems that are known to answer truly; everywhere else the bytes are read and runs of
//! zeros left out, which keeps holes without believing anybody.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::data::{seek_data, seek_hole};
use haul_sys::{Errno, Result};

/// The unit in which zeros become holes: the smallest block of every common file system. A file
/// system with larger blocks allocates the rest of the block and loses nothing.
pub const ZERO_BLOCK_BYTES: usize = 4096;

/// Where the data of a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// Everywhere, or nobody knows.
    Dense,
    /// Ask `SEEK_DATA` and `SEEK_HOLE`.
    Ask,
}

/// Walks over the data of a file from front to back.
#[derive(Debug)]
pub struct Segments {
    map: Map,
    /// The next byte that was not handed out yet.
    at: u64,
    /// The end of the data segment that `at` lies in.
    data_end: u64,
    /// The end of the file as it was told.
    end: u64,
}

impl Segments {
    /// Starts at the first byte of a file of this size.
    #[must_use]
    pub const fn new(map: Map, file_bytes: u64) -> Segments {
        let data_end = match map {
            Map::Dense => file_bytes,
            Map::Ask => 0,
        };
        Segments { map, at: 0, data_end, end: file_bytes }
    }

    /// Returns the next range that holds data, at most `most` bytes, or `None` at the end.
    ///
    /// A file that shrinks meanwhile has an end before its told one; what the answers mean is
    /// then for the caller to find out, by comparing sizes.
    pub fn next(&mut self, source: BorrowedFd<'_>, most: u64) -> Result<Option<Range<u64>>> {
        if self.at >= self.data_end {
            if self.map == Map::Dense || self.at >= self.end {
                return Ok(None);
            }
            let start = match seek_data(source, self.at) {
                Ok(start) if start < self.end => start,
                Ok(_) => return Ok(self.finish()),
                Err(error) if error.errno == Errno::NXIO => return Ok(self.finish()),
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
        }
        let start = self.at;
        let stop = self.data_end.min(start.saturating_add(most.max(1)));
        self.at = stop;
        Ok(Some(start..stop))
    }

    /// Forgets what was told of this byte and those behind it, so that they are asked for again.
    pub fn ask_again_from(&mut self, at: u64) {
        if self.map == Map::Ask {
            (self.at, self.data_end) = (at, at);
        }
    }

    fn finish(&mut self) -> Option<Range<u64>> {
        self.at = self.end;
        self.data_end = self.end;
        None
    }
}

/// A run of bytes that are all zero, or not.
pub struct Run<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether all of them are zero.
    pub zero: bool,
}

/// Splits bytes at the block boundaries of the file into runs of zero blocks and of others.
///
/// `offset` is where the bytes lie in the file: only whole, aligned blocks (and a last, short one)
/// count as zero, for a hole cannot be smaller.
pub fn zero_runs(bytes: &[u8], offset: u64) -> impl Iterator<Item = Run<'_>> {
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
            let piece = left.get(length..length + block).unwrap_or(&[]);
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

    #[test]
    fn a_dense_file_is_cut_into_steps() {
        let file = tempfile::tempfile().unwrap();
        let fd = std::os::fd::AsFd::as_fd(&file);
        let mut segments = Segments::new(Map::Dense, 10);
        assert_eq!(segments.next(fd, 4).unwrap(), Some(0..4));
        assert_eq!(segments.next(fd, 4).unwrap(), Some(4..8));
        assert_eq!(segments.next(fd, 4).unwrap(), Some(8..10));
        assert_eq!(segments.next(fd, 4).unwrap(), None);
    }
}
