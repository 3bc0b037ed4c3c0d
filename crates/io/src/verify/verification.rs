//! Proving a target: reads it again, past the page cache, and compares it with the digests of what was read.
//!
//! What was just written is still cached, and reading that would only verify that memory works. So
//! the cache is emptied of it first, which `cachestat` has to confirm. Direct I/O alone is not enough:
//! some file systems take the flag and answer from the cache (btrfs for compressed data, ext4 with
//! journaled data). Where the cache keeps a part, direct reads of another part show whether they pass
//! it by; where that shows nothing either (a file system in memory) the answer says so.

use haul_sys::sync::Mutex;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::data::{Way, pread, pwrite, seek_data, set_way};
use haul_sys::fs::{Kind, Stat};
use haul_sys::memory::AlignedBuffer;

use crate::digest::block_digests::{BlockDigests, Piece};
use crate::digest::{Algorithm, Digest};
use crate::method::error::DataError;
use crate::system::fully;
use crate::system::kit::Watch;
use crate::system::quirk::HoleMap;
use crate::system::quirk::Quirk;
use crate::system::retry::retrying;
use crate::verify::passage::Passage;
pub use crate::verify::unverified::{Unverified, VerifiedFrom};

/// Bytes of one request: with direct I/O each is a trip to the device, and 1 MiB is where more
/// brings nothing.
const REQUEST_BYTES: usize = 1 << 20;

/// What a request's offset and length are multiples of.
pub(crate) const UNIT_BYTES: usize = 4096;

/// The stack of a reader, which holds no buffer on it.
const STACK_BYTES: usize = 256 << 10;

/// What came of proving a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Where the bytes came from.
    pub verified_from: VerifiedFrom,
    /// Ranges that are not what they ought to be.
    pub differing: Vec<Range<u64>>,
    /// The digest of the whole file as it is, if it was taken.
    pub whole: Vec<u8>,
}

/// Whether the digest of the whole file is taken on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// It is, for which the bytes have to be read in order, by one.
    Taken,
    /// It is not: up to so many read at once, each a stretch, so that storage and not hashing is the
    /// limit.
    Left {
        /// The most that read at once, the caller included.
        readers: usize,
    },
}

/// Returns how many bytes a file ought to have whose source was described so before it was copied.
#[must_use]
pub fn source_bytes(source: &Stat, quirk: &Quirk, digests: &BlockDigests) -> u64 {
    let end = digests.end();
    let has_map = source.may_have_holes() && quirk.hole_map == HoleMap::Trusted;
    // What was read to its end has the bytes that were read. A hole at the end is not read.
    if has_map && source.kind() == Kind::Regular { end.max(source.size) } else { end }
}

/// Reads a file again and compares it. Blocks until it is read or the run is stopped.
pub fn verify(
    unverified: &Unverified<'_>,
    whole: Whole,
    watch: &Watch<'_>,
) -> Result<Verification, DataError> {
    let passage = Passage::prepare(unverified, watch)?;
    let look = Reading { unverified, passage: &passage, watch };
    let read = match whole {
        Whole::Taken => {
            let all = Stretch { range: 0..unverified.bytes, pieces: unverified.digests.pieces() };
            check(&look, all, Some(unverified.digests.algorithm.start()))
        }
        Whole::Left { readers } => check_stretches(&look, readers),
    };
    // The descriptor goes on as it was; where that fails, only its last use was to come.
    let _back = set_way(unverified.fd, Way::Cached);
    let (differing, whole) = read?;
    Ok(Verification { verified_from: passage.verified_from(), differing, whole })
}

/// What is being verified, and how it is read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    unverified: &'a Unverified<'a>,
    passage: &'a Passage,
    watch: &'a Watch<'a>,
}

/// Bytes that one reader draws at a time: long enough that starting another pays.
const STRETCH_BYTES: u64 = 32 << 20;

/// A part of a file, and the pieces in it.
struct Stretch {
    range: Range<u64>,
    pieces: Vec<Piece>,
}

/// What was found: ranges that differ, and the digest of all bytes where that was taken.
type Checked = (Vec<Range<u64>>, Vec<u8>);

/// Cuts a file between pieces, where direct I/O can begin.
fn stretches(unverified: &Unverified<'_>) -> Vec<Stretch> {
    let mut cut: Vec<Stretch> = vec![Stretch { range: 0..unverified.bytes, pieces: Vec::new() }];
    for piece in unverified.digests.pieces() {
        let Some(last) = cut.last_mut() else { break };
        let is_remote = piece.offset >= last.range.start + STRETCH_BYTES;
        if is_remote && piece.offset % UNIT_BYTES as u64 == 0 && piece.offset < unverified.bytes {
            last.range.end = piece.offset;
            cut.push(Stretch { range: piece.offset..unverified.bytes, pieces: Vec::new() });
        }
        if let Some(last) = cut.last_mut() {
            last.pieces.push(piece);
        }
    }
    cut
}

/// Checks a file by several readers, which take its stretches in order.
fn check_stretches(look: &Reading<'_>, readers: usize) -> Result<Checked, DataError> {
    let cut = stretches(look.unverified);
    let readers = readers.min(cut.len());
    let left = Mutex::new(cut.into_iter());
    let found: Mutex<Result<Vec<Range<u64>>, DataError>> = Mutex::new(Ok(Vec::new()));
    let next = || left.lock().next();
    let read = || {
        while let Some(stretch) = next() {
            let checked = check(look, stretch, None);
            let mut found = found.lock();
            match (&mut *found, checked) {
                (Ok(found), Ok((differing, _))) => found.extend(differing),
                (Ok(_), Err(error)) => *found = Err(error),
                (Err(_), _) => return,
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..readers {
            // Where threads are refused, fewer read.
            let _more =
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, read);
        }
        read();
    });
    let mut found = found.into_inner()?;
    found.sort_unstable_by_key(|range| range.start);
    Ok((found, Vec::new()))
}

/// Reads a part of a file and compares it.
fn check(
    look: &Reading<'_>,
    stretch: Stretch,
    whole: Option<Digest>,
) -> Result<Checked, DataError> {
    let Reading { unverified, passage, watch } = *look;
    let Range { start, end } = stretch.range;
    let mut checker = Checker::new(unverified.digests.algorithm, stretch, whole);
    let wanted = usize::try_from(end - start).unwrap_or(REQUEST_BYTES).min(REQUEST_BYTES);
    let mut buffer = AlignedBuffer::new(wanted.next_multiple_of(UNIT_BYTES).max(UNIT_BYTES))?;
    let mut at = start;
    while at < end {
        if watch.stopped() {
            return Err(DataError::Stopped);
        }
        // Where the digests say that there was data the map is not asked: a wrong one would show a
        // right target as a different one.
        let data = match checker.next_piece().map(|piece| piece - piece % UNIT_BYTES as u64) {
            Some(piece) if piece <= at => at,
            piece => next_data(unverified, at).min(piece.unwrap_or(end)).min(end),
        };
        if data > at {
            checker.zeros(data - at);
            at = data;
            continue;
        }
        let filled = passage.read_at(unverified.fd, &mut buffer, at, watch)?;
        let filled = filled.min(usize::try_from(end - at).unwrap_or(usize::MAX));
        if filled == 0 {
            break;
        }
        checker.bytes(&buffer[..filled]);
        at += filled as u64;
    }
    let is_last = end == unverified.bytes;
    let has_size = !is_last || haul_sys::fs::fstat(unverified.fd)?.size == unverified.bytes;
    Ok(checker.finish(end, has_size && at == end))
}

/// Returns where the next data is, so that holes between pieces are not read; `at`, where the file
/// system's answer is not to be believed, for a verification must not rest on it.
fn next_data(unverified: &Unverified<'_>, at: u64) -> u64 {
    if unverified.quirk.hole_map != HoleMap::Trusted {
        return at;
    }
    match seek_data(unverified.fd, at) {
        Ok(data) => (data - data % UNIT_BYTES as u64).clamp(at, unverified.bytes),
        Err(error) if error.errno == Errno::NXIO => unverified.bytes,
        Err(_) => at,
    }
}

/// Compares a file's bytes, which come in order, with its pieces.
struct Checker {
    algorithm: &'static Algorithm,
    pieces: std::iter::Peekable<std::vec::IntoIter<Piece>>,
    at: u64,
    /// The digest of the piece that `at` lies in, as far as it was seen.
    piece: Digest,
    /// The digest of all bytes, where it is wanted.
    whole: Option<Digest>,
    differing: Vec<Range<u64>>,
}

impl Checker {
    fn new(algorithm: &'static Algorithm, stretch: Stretch, whole: Option<Digest>) -> Checker {
        Checker {
            algorithm,
            pieces: stretch.pieces.into_iter().peekable(),
            at: stretch.range.start,
            piece: algorithm.start(),
            whole,
            differing: Vec::new(),
        }
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        if let Some(whole) = &mut self.whole {
            whole.update(bytes);
        }
        while !bytes.is_empty() {
            let (length, in_piece) = self.step(bytes.len() as u64);
            let (now, rest) = bytes.split_at(usize::try_from(length).unwrap_or(bytes.len()));
            if in_piece {
                self.piece.update(now);
            } else if now.iter().any(|byte| *byte != 0) {
                // Between pieces there was a hole.
                self.differ(self.at..self.at + length);
            }
            self.advance(length);
            bytes = rest;
        }
    }

    fn zeros(&mut self, mut count: u64) {
        if let Some(whole) = &mut self.whole {
            whole.update_zeros(count);
        }
        while count > 0 {
            let (length, in_piece) = self.step(count);
            if in_piece {
                self.piece.update_zeros(length);
            }
            self.advance(length);
            count -= length;
        }
    }

    /// Returns how far it is to the next border of a piece, at most `most`, and whether that is
    /// within one.
    fn step(&mut self, most: u64) -> (u64, bool) {
        match self.pieces.peek() {
            None => (most, false),
            Some(piece) if self.at < piece.offset => (most.min(piece.offset - self.at), false),
            Some(piece) => (most.min(piece.offset + piece.bytes - self.at).max(1), true),
        }
    }

    /// Returns where the piece begins that the next byte is in, or else the first one after it.
    fn next_piece(&mut self) -> Option<u64> {
        self.pieces.peek().map(|piece| piece.offset)
    }

    fn advance(&mut self, length: u64) {
        self.at += length;
        let at = self.at;
        if let Some(piece) = self.pieces.next_if(|piece| piece.offset + piece.bytes <= at) {
            let digest = std::mem::replace(&mut self.piece, self.algorithm.start());
            if !piece.is(digest) {
                self.differ(piece.offset..piece.offset + piece.bytes);
            }
        }
    }

    fn differ(&mut self, range: Range<u64>) {
        match self.differing.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => self.differing.push(range),
        }
    }

    fn finish(mut self, bytes: u64, whole_size: bool) -> (Vec<Range<u64>>, Vec<u8>) {
        if let Some(missing) = self.pieces.next() {
            self.differ(missing.offset..missing.offset + missing.bytes);
        }
        if !whole_size {
            // What is missing, or too much, is no range that could be copied again.
            let end = bytes.max(self.at + 1);
            self.differ(self.at.min(bytes)..end);
        }
        (self.differing, self.whole.map(Digest::finish).unwrap_or_default())
    }
}

/// Copies ranges again, from a source that has to be what the digests saw.
pub fn repair(
    source: BorrowedFd<'_>,
    unverified: &Unverified<'_>,
    ranges: &[Range<u64>],
    watch: &Watch<'_>,
) -> Result<(), DataError> {
    let pieces = unverified.digests.pieces();
    for range in ranges {
        let mut hole_from = range.start;
        for piece in pieces
            .iter()
            .filter(|piece| piece.offset < range.end && range.start < piece.offset + piece.bytes)
        {
            fill_zeros(unverified, hole_from..piece.offset, watch)?;
            copy_piece(source, unverified, piece, watch)?;
            hole_from = piece.offset + piece.bytes;
        }
        fill_zeros(unverified, hole_from..range.end.min(unverified.bytes), watch)?;
    }
    retrying(watch, || haul_sys::data::ftruncate(unverified.fd, unverified.bytes))?;
    Ok(())
}

fn copy_piece(
    source: BorrowedFd<'_>,
    unverified: &Unverified<'_>,
    piece: &Piece,
    watch: &Watch<'_>,
) -> Result<(), DataError> {
    let length = usize::try_from(piece.bytes).map_err(|_| DataError::NoProgress)?;
    let mut buffer = AlignedBuffer::new(length)?;
    let room = &mut buffer[..length];
    let (filled, error) = fully::read_all(room, |left, done| {
        retrying(watch, || pread(source, &mut *left, piece.offset + done))
    });
    if filled < piece.bytes {
        return Err(error.map_or(DataError::Changed, DataError::Call));
    }
    let bytes = &buffer[..length];
    let mut digest = unverified.digests.algorithm.start();
    digest.update(bytes);
    if !piece.is(digest) {
        return Err(DataError::Changed);
    }
    write_all(unverified, bytes, piece.offset, watch)
}

fn fill_zeros(
    unverified: &Unverified<'_>,
    range: Range<u64>,
    watch: &Watch<'_>,
) -> Result<(), DataError> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let mut at = range.start;
    while at < range.end {
        let length = usize::try_from(range.end - at).unwrap_or(ZEROS.len()).min(ZEROS.len());
        write_all(unverified, &ZEROS[..length], at, watch)?;
        at += length as u64;
    }
    Ok(())
}

fn write_all(
    unverified: &Unverified<'_>,
    bytes: &[u8],
    at: u64,
    watch: &Watch<'_>,
) -> Result<(), DataError> {
    let (_, error) = fully::write_all(bytes, |left, done| {
        retrying(watch, || pwrite(unverified.fd, left, at + done))
    });
    error.map_or(Ok(()), |error| Err(error.into()))
}
