//! The bytes of one pair of regular files.
//!
//! Every byte is read on both sides, with one exception: ranges that both sides report as holes, on
//! file systems whose reports are known to be reliable. If that fails in any way (no segments
//! reported, a file that ends early), everything is read.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread, read};

use super::{HolePolicy, PageCache, Side};
use crate::failure::Action;
use crate::node::{Attributes, is_well_known, retry};
use crate::segments::{Segment, SegmentCursor};

/// Size of one read. Larger buffers are evicted from the second-level cache between the read and
/// the comparison.
const READ_BYTES: usize = 256 * 1024;

/// The read buffers for both files, reused for each pair.
pub(super) struct Buffers {
    a: Vec<u8>,
    b: Vec<u8>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self { a: vec![0; READ_BYTES], b: vec![0; READ_BYTES] }
    }
}

/// One of the two files: open at offset 0, and its statx(2) attributes.
pub(super) struct OpenFile<'a> {
    pub(super) fd: BorrowedFd<'a>,
    pub(super) attributes: &'a Attributes,
}

/// Result of reading two files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The length of each content; the size of statx(2) if the end was not reached.
    pub(super) lengths: (u64, u64),
    /// The first byte that differs within the common length.
    pub(super) first_offset: Option<u64>,
    pub(super) read_bytes: u64,
    pub(super) hole_bytes: u64,
}

/// Why two files were not read to their ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// A read failed on this side.
    Failed(Side, (Action, Errno)),
    /// The caller has ended the comparison.
    Stopped,
}

impl Unread {
    /// Returns what a failed read on this side leads to.
    fn on(side: Side) -> impl Fn(Errno) -> Unread {
        move |errno| Unread::Failed(side, (Action::Read, errno))
    }
}

/// Tells the caller which range of both files was read, and asks whether to go on.
fn tell(
    pages: &mut dyn PageCache,
    files: [BorrowedFd<'_>; 2],
    range: Range<u64>,
) -> Result<(), Unread> {
    match pages.has_read(files, range).is_break() {
        true => Err(Unread::Stopped),
        false => Ok(()),
    }
}

/// Compares two files. Blocks as long as reading them takes.
pub(super) fn compare_content(
    a: &OpenFile<'_>,
    b: &OpenFile<'_>,
    policy: HolePolicy,
    buffers: &mut Buffers,
    pages: &mut dyn PageCache,
) -> Result<Outcome, Unread> {
    if policy == HolePolicy::SkipCommon
        && [a, b].iter().all(|file| file.attributes.may_have_holes())
        && is_well_known(a.fd)
        && is_well_known(b.fd)
    {
        if let Some(outcome) = compare_segments(a, b, buffers, pages)? {
            return Ok(outcome);
        }
        // The search for segments has moved the offsets.
        for (side, file) in [(Side::A, a), (Side::B, b)] {
            seek(file.fd, SeekFrom::Start(0)).map_err(Unread::on(side))?;
        }
    }
    compare_streams(a, b, buffers, pages)
}

/// Reads the union of both files' data segments. Returns `None` if the segments are not usable.
fn compare_segments(
    a: &OpenFile<'_>,
    b: &OpenFile<'_>,
    buffers: &mut Buffers,
    pages: &mut dyn PageCache,
) -> Result<Option<Outcome>, Unread> {
    let lengths = (a.attributes.size, b.attributes.size);
    let end = lengths.0.min(lengths.1);
    let mut cursors = (SegmentCursor::new(a.fd, end), SegmentCursor::new(b.fd, end));
    let mut outcome = Outcome { lengths, ..Outcome::default() };
    let mut position = 0;
    loop {
        let (Ok(in_a), Ok(in_b)) =
            (cursors.0.at_or_after(position), cursors.1.at_or_after(position))
        else {
            return Ok(None);
        };
        let Some(segment) = first_of(in_a, in_b) else { break };
        outcome.hole_bytes += segment.offset - position;
        let chunk_bytes = segment.length.min(READ_BYTES as u64) as usize;
        let (in_a, in_b) = (&mut buffers.a[..chunk_bytes], &mut buffers.b[..chunk_bytes]);
        let read_a = fill(in_a, |rest, done| pread(a.fd, rest, segment.offset + done))
            .map_err(Unread::on(Side::A))?;
        let read_b = fill(in_b, |rest, done| pread(b.fd, rest, segment.offset + done))
            .map_err(Unread::on(Side::B))?;
        if read_a < chunk_bytes || read_b < chunk_bytes {
            return Ok(None);
        }
        outcome.read_bytes += chunk_bytes as u64;
        let read = segment.offset..segment.offset + chunk_bytes as u64;
        tell(pages, [a.fd, b.fd], read)?;
        if let Some(index) = first_difference(in_a, in_b) {
            outcome.first_offset = Some(segment.offset + index as u64);
            return Ok(Some(outcome));
        }
        position = segment.offset + chunk_bytes as u64;
    }
    outcome.hole_bytes += end - position;
    Ok(Some(outcome))
}

/// Returns the segment that begins first. It needs no cut at the start of the other: a hole in the
/// other file reads as zeros.
fn first_of(a: Option<Segment>, b: Option<Segment>) -> Option<Segment> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.offset < a.offset { b } else { a }),
        (one, other) => one.or(other),
    }
}

/// Reads both files from their beginning to their end, whatever their reported sizes.
fn compare_streams(
    a: &OpenFile<'_>,
    b: &OpenFile<'_>,
    buffers: &mut Buffers,
    pages: &mut dyn PageCache,
) -> Result<Outcome, Unread> {
    let sizes = (a.attributes.size, b.attributes.size);
    let mut outcome = Outcome { lengths: sizes, ..Outcome::default() };
    loop {
        let position = outcome.read_bytes;
        let read_a =
            fill(&mut buffers.a, |rest, _| read(a.fd, rest)).map_err(Unread::on(Side::A))?;
        let read_b =
            fill(&mut buffers.b, |rest, _| read(b.fd, rest)).map_err(Unread::on(Side::B))?;
        tell(pages, [a.fd, b.fd], position..position + read_a.max(read_b) as u64)?;
        let common = read_a.min(read_b);
        let (in_a, in_b) = (buffers.a.get(..common), buffers.b.get(..common));
        outcome.read_bytes += common as u64;
        if let Some(index) = first_difference(in_a.unwrap_or_default(), in_b.unwrap_or_default()) {
            outcome.first_offset = Some(position + index as u64);
            return Ok(outcome);
        }
        if common < READ_BYTES {
            // At least one has ended. The other may be endless, so it is not read to its end.
            let (end_a, end_b) = (position + read_a as u64, position + read_b as u64);
            outcome.lengths = match read_a.cmp(&read_b) {
                std::cmp::Ordering::Equal => (end_a, end_b),
                std::cmp::Ordering::Less => (end_a, end_b.max(sizes.1)),
                std::cmp::Ordering::Greater => (end_a.max(sizes.0), end_b),
            };
            return Ok(outcome);
        }
    }
}

/// Fills the buffer unless the file ends; only an empty read is the end, a short one is not.
fn fill(
    buffer: &mut [u8],
    mut read_some: impl FnMut(&mut [u8], u64) -> rustix::io::Result<usize>,
) -> rustix::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let count = retry(|| read_some(&mut *rest, done as u64))?;
        if count == 0 {
            break;
        }
        done += count;
    }
    Ok(done)
}

/// Returns the index of the first byte that differs in two slices of equal length.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    // Equality of slices is one memcmp; only in a difference is each byte compared.
    if a == b { None } else { a.iter().zip(b).position(|(a, b)| a != b) }
}

/// Borrows a pair of owned descriptors as open files.
pub(super) fn open_pair<'a>(
    fds: &'a (impl AsFd, impl AsFd),
    a: &'a Attributes,
    b: &'a Attributes,
) -> (OpenFile<'a>, OpenFile<'a>) {
    (OpenFile { fd: fds.0.as_fd(), attributes: a }, OpenFile { fd: fds.1.as_fd(), attributes: b })
}
