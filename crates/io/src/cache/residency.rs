//! Residency: how much of a file is in the page cache, measured and not assumed.
//!
//! `cachestat` where the kernel has it (6.5), else `mincore`. Both answer only a process that
//! may write the file or owns it; for others there is no answer, and none is made up: `mincore`, which
//! tells them that every page is there, is asked about files of this process's user alone.
//!
//! `preadv2` with `RWF_NOWAIT` would answer any reader, but starts to read what it does not find (Linux
//! 6.18, `filemap_get_pages`): after a look at a file all of it would be cached.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::fs::fstat;
use haul_sys::is_refused;
use haul_sys::memory::{cachestat, page_bytes, resident_bytes, resident_ranges};
use haul_sys::process::identity;

use crate::system::quirk::Pages;
use crate::system::quirk::Quirk;

/// Cached bytes of the two files of a copy, in whole pages. `None` where the kernel does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cached {
    /// Of the source.
    pub source: Option<u64>,
    /// Of the target.
    pub target: Option<u64>,
}

/// Residency of a copy's files around the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Residency {
    /// Before the first byte was moved.
    pub before: Cached,
    /// After the last.
    pub after: Cached,
    /// The files that these figures stand for: one, or many of which this is a sample.
    pub files: u64,
}

/// Files below this size are sampled: the questions cost as much as copying them.
pub(crate) const SAMPLED_BYTES: u64 = 1 << 20;

/// So many small files between two file systems are asked all.
const ASKED_FILES: u64 = 1024;

/// Of more, one in so many is: 1,000,000 files are 16,000 samples, which tell shares to a percent.
const SAMPLED_FILES: u64 = 64;

/// Returns for how many files the small file of this number stands.
pub(crate) const fn stands_for(number: u64) -> u64 {
    if number < ASKED_FILES {
        1
    } else if number.is_multiple_of(SAMPLED_FILES) {
        SAMPLED_FILES
    } else {
        0
    }
}

/// A file of which residency is asked, with what its file system is.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The file.
    pub fd: BorrowedFd<'a>,
    /// Its file system.
    pub quirk: &'static Quirk,
}

/// Returns how many bytes of a range of a file are cached, in whole pages, or `None` where the
/// kernel does not tell. `offset` is a multiple of the page. Never blocks on I/O.
#[must_use]
pub fn cached_bytes(file: Asked<'_>, offset: u64, bytes: u64) -> Option<u64> {
    let fd = file.fd;
    if bytes == 0 {
        return Some(0);
    }
    if file.quirk.pages == Pages::Below {
        return mapped_bytes(file, offset, bytes);
    }
    match cachestat(fd, offset, bytes) {
        Ok(pages) => Some(pages.cached * page_bytes()),
        Err(error) if is_refused(error.call, error.errno) => mapped_bytes(file, offset, bytes),
        Err(_) => None,
    }
}

fn mapped_bytes(file: Asked<'_>, offset: u64, bytes: u64) -> Option<u64> {
    if may_map(file) { resident_bytes(file.fd, offset, bytes).ok() } else { None }
}

/// Returns whether what `mincore` answers is true for this process: it owns the file, or is root.
fn may_map(file: Asked<'_>) -> bool {
    let own = identity().uid;
    own == 0 || fstat(file.fd).is_ok_and(|stat| stat.uid == own)
}

/// Returns how many bytes of a file were changed and are not on storage yet, those that are being written
/// included. `None` where the kernel does not tell. Never blocks on I/O.
#[must_use]
pub fn dirty_bytes(file: Asked<'_>) -> Option<u64> {
    if file.quirk.pages == Pages::Below {
        return None;
    }
    let pages = cachestat(file.fd, 0, 0).ok()?;
    Some((pages.dirty + pages.writeback).min(pages.cached) * page_bytes())
}

/// Bytes that `mincore` is asked about at once, if some of them are cached.
const CLOSE_LOOK_BYTES: u64 = 256 << 20;

/// Returns the parts of a range of a file that are cached, in rising order and in whole pages, or `None` where the
/// kernel does not tell. The range begins at a multiple of the page. Never blocks on I/O.
#[must_use]
pub fn present(file: Asked<'_>, wanted: Range<u64>) -> Option<Vec<Range<u64>>> {
    let page = page_bytes();
    let closest = if may_map(file) { CLOSE_LOOK_BYTES } else { page };
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut add = |range: Range<u64>| match found.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    };
    // Parts that are to be looked at, the first one last.
    let mut parts = vec![wanted];
    while let Some(part) = parts.pop() {
        let bytes = part.end - part.start;
        let cached = cached_bytes(file, part.start, bytes)?;
        if cached >= bytes.next_multiple_of(page) && bytes > 0 {
            add(part.start..part.end.next_multiple_of(page));
        } else if cached > 0 && bytes > closest {
            let middle = part.start + (bytes / 2).next_multiple_of(page);
            parts.extend([middle..part.end, part.start..middle]);
        } else if cached > 0 {
            resident_ranges(file.fd, part.start, bytes).ok()?.into_iter().for_each(&mut add);
        }
    }
    Some(found)
}

/// The most questions that are asked about one file: at a microsecond each this is a few
/// milliseconds, for a file that takes longer to move.
const QUESTIONS_MAX: u32 = 4096;

/// The size of the first question: what [`QUESTIONS_MAX`] of cover is 64 GiB.
const QUESTION_BYTES: u64 = 16 << 20;

/// Returns the parts of a range of a file that are not cached, in rising order and in whole pages.
///
/// Where there are too many to ask for one by one, what is left counts as cached, so that nothing
/// is dropped that was there. An empty answer also where the kernel does not tell.
#[must_use]
pub fn absent(file: Asked<'_>, wanted: Range<u64>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut left = QUESTIONS_MAX;
    // The kernel tells of whole pages.
    let mut at = wanted.start - wanted.start % page_bytes();
    while at < wanted.end && left > 0 {
        let end = wanted.end.min(at + QUESTION_BYTES);
        search(file, at..end, &mut left, &mut ranges);
        at = end;
    }
    ranges
}

/// Halves a range until each part is either cached or not. The recursion is as deep as the
/// logarithm of [`QUESTION_BYTES`] in pages: 12.
fn search(file: Asked<'_>, range: Range<u64>, left: &mut u32, found: &mut Vec<Range<u64>>) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    let page = page_bytes();
    let length = range.end - range.start;
    match cached_bytes(file, range.start, length) {
        Some(0) => match found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => found.push(range),
        },
        Some(cached) if cached < length && length > page => {
            let middle = range.start + (length / 2).next_multiple_of(page);
            search(file, range.start..middle, left, found);
            search(file, middle..range.end, left, found);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_for_all() {
        for files in [1, 1000, 1024, 1088, 102_400] {
            assert_eq!((0..files).map(stands_for).sum::<u64>(), files);
        }
        assert!((0..102_400).filter(|number| stands_for(*number) > 0).count() < 3000);
    }
}
