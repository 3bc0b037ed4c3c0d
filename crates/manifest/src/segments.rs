//! Data segments and holes of a file.
//!
//! A sparse file of many gigabytes must not take as long to compare as a full one. The kernel's
//! report (lseek(2), `SEEK_DATA`) is never relied upon alone: see [`crate::HolePolicy`].

use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::node::retry;

/// A range of bytes that is data, not a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes, above 0.
    pub length: u64,
}

impl Segment {
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Finds the data segments of an open file one after the other. Moves the file's offset.
pub(crate) struct SegmentCursor<'a> {
    fd: BorrowedFd<'a>,
    end: u64,
    known: Option<Segment>,
}

impl<'a> SegmentCursor<'a> {
    /// Searches only the bytes below `end`.
    pub(crate) fn new(fd: BorrowedFd<'a>, end: u64) -> Self {
        Self { fd, end, known: None }
    }

    /// Returns the first data at or after `position`, beginning no earlier than there, or `None` if
    /// only holes follow.
    pub(crate) fn at_or_after(&mut self, position: u64) -> rustix::io::Result<Option<Segment>> {
        if let Some(known) = self.known
            && known.end() > position
        {
            let offset = known.offset.max(position);
            return Ok(Some(Segment { offset, length: known.end() - offset }));
        }
        self.known = self.seek_data(position)?;
        Ok(self.known)
    }

    fn seek_data(&self, position: u64) -> rustix::io::Result<Option<Segment>> {
        if position >= self.end {
            return Ok(None);
        }
        let offset = match retry(|| seek(self.fd, SeekFrom::Data(position))) {
            // No data up to the end of the file.
            Err(Errno::NXIO) => return Ok(None),
            result => result?,
        };
        // A file system that returned an earlier position would cause an endless loop.
        let offset = offset.max(position);
        if offset >= self.end {
            return Ok(None);
        }
        let hole = retry(|| seek(self.fd, SeekFrom::Hole(offset)))?.min(self.end);
        // A file that changes between the two calls may give an empty segment; then the whole rest
        // counts as data and is read.
        let end = if hole > offset { hole } else { self.end };
        Ok(Some(Segment { offset, length: end - offset }))
    }
}

/// Returns all data segments below `end` in order; memory grows with their number.
pub(crate) fn data_segments(fd: BorrowedFd<'_>, end: u64) -> rustix::io::Result<Vec<Segment>> {
    let mut cursor = SegmentCursor::new(fd, end);
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(segment) = cursor.at_or_after(position)? {
        position = segment.end();
        found.push(segment);
    }
    Ok(found)
}
