//! A part of an archive as a source: the frames that hold the members that are wanted.

use std::io::{Error, Read};
use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_codec::{SeekTable, SeekableFrame};
use haul_io::fully::read_fully;

use super::read::ranges;
use crate::filter::{Filter, Memory, decoder};
use crate::source::{Source, StreamSource};

/// Bytes of a seek table that is used at most: for two million frames.
const TABLE_BYTES_MAX: usize = 16 << 20;

/// Bytes of an index that is used at most, compressed.
const INDEX_BYTES_MAX: u32 = 256 << 20;

/// Bytes that are read to find the size of the seek table.
const END_BYTES: u64 = 9;

/// Bytes that are skipped at a time.
const SKIP_BYTES: u64 = 64 << 10;

/// Returns a source of the members that are wanted, by the index of an archive in this range of a
/// file, in the order of the archive. `jobs` workers decompress. `None` if the file has no index that
/// can be used; then it has to be read from the beginning. Blocks.
pub fn select(
    file: &Arc<OwnedFd>,
    archive: Range<u64>,
    (jobs, memory): (usize, Memory),
    wants: &mut dyn FnMut(&[u8]) -> bool,
) -> Option<Box<dyn Source + Send>> {
    let file_bytes = archive.end.checked_sub(archive.start)?;
    let read = |bytes: usize, before: u64| {
        let mut found = vec![0; bytes];
        let at = archive.end.checked_sub(before + bytes as u64)?;
        let count = read_fully(file.as_fd(), &mut found, at).ok()?;
        (at >= archive.start && count == bytes).then_some(found)
    };
    let table_bytes = SeekTable::table_bytes(&read(usize::try_from(END_BYTES).ok()?, 0)?)?;
    if table_bytes > TABLE_BYTES_MAX {
        return None;
    }
    let table = SeekTable::read(&read(table_bytes, 0)?, file_bytes)?;
    let last = table.frames().last()?;
    if last.content_bytes != 0 || last.bytes > INDEX_BYTES_MAX {
        return None;
    }
    let frame = read(usize::try_from(last.bytes).ok()?, table_bytes as u64)?;
    let index = SeekTable::attached(&frame)?.to_vec();
    drop(frame);
    let all = table.frames().iter().map(|frame| u64::from(frame.content_bytes)).sum();
    let wanted = ranges(index, all, wants)?;
    let Selection { pieces, places, frames, bytes } = plan(table.frames(), archive.start, &wanted);
    // A single frame is decompressed piece by piece, which takes less memory, and therefore time.
    let jobs = jobs.min(frames).max(1);
    let frames = Frames { file: Arc::clone(file), pieces: pieces.into() };
    let decoded = decoder(Filter::Zstd, frames, jobs, memory);
    let selected = Selected { decoded, places: places.into(), at: 0, bytes };
    Some(Box::new(StreamSource::new(selected)))
}

/// The frames that hold what is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection {
    /// Where they are in the file.
    pieces: Vec<Range<u64>>,
    /// Where what is wanted is in their contents.
    places: Vec<Range<u64>>,
    /// Number of them.
    frames: usize,
    /// Bytes of their contents.
    bytes: u64,
}

/// Returns the frames for these ranges of the archive.
fn plan(frames: &[SeekableFrame], start: u64, wanted: &[Range<u64>]) -> Selection {
    let mut selection = Selection::default();
    let Selection { pieces, places, frames: count, .. } = &mut selection;
    let (mut at, mut content, mut decoded) = (start, 0, 0);
    let mut wanted = wanted.iter().peekable();
    for frame in frames {
        let end = content + u64::from(frame.content_bytes);
        let mut is_needed = false;
        while let Some(range) = wanted.peek().filter(|range| range.start < end) {
            is_needed = true;
            let from = decoded + range.start.saturating_sub(content);
            let to = decoded + range.end.min(end) - content;
            match places.last_mut() {
                Some(last) if last.end == from => last.end = to,
                _ => places.push(from..to),
            }
            if range.end > end {
                break;
            }
            wanted.next();
        }
        let next = at + u64::from(frame.bytes);
        if is_needed {
            decoded += u64::from(frame.content_bytes);
            *count += 1;
            match pieces.last_mut() {
                Some(last) if last.end == at => last.end = next,
                _ => pieces.push(at..next),
            }
        }
        (at, content) = (next, end);
    }
    selection.bytes = decoded;
    selection
}

/// Ranges of a file one behind the other.
struct Frames {
    file: Arc<OwnedFd>,
    pieces: std::collections::VecDeque<Range<u64>>,
}

impl Read for Frames {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let Some(piece) = self.pieces.front_mut() else { return Ok(0) };
        let left = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
        let most = left.min(room.len());
        let room = &mut room[..most];
        let read = read_fully(self.file.as_fd(), room, piece.start);
        let count = read.map_err(|error| Error::from(error.errno))?;
        piece.start += count as u64;
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        Ok(count)
    }
}

/// What is wanted of the contents of frames.
struct Selected {
    decoded: Box<dyn Read + Send>,
    places: std::collections::VecDeque<Range<u64>>,
    at: u64,
    /// Bytes of all contents.
    bytes: u64,
}

impl Selected {
    fn skip(&mut self, bytes: u64) -> std::io::Result<u64> {
        let mut left = (&mut self.decoded).take(bytes);
        let count = std::io::copy(&mut left, &mut std::io::sink())?;
        self.at += count;
        Ok(count)
    }

    fn wrong<T>() -> std::io::Result<T> {
        Err(Error::other("the member index is wrong; without --trust-index it is not needed"))
    }
}

impl Read for Selected {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let Some(place) = self.places.front().cloned() else {
            // The sums of the last frame are compared at its end.
            while self.skip(SKIP_BYTES)? > 0 {}
            return if self.at == self.bytes { Ok(0) } else { Selected::wrong() };
        };
        let gap = place.start.saturating_sub(self.at);
        if self.skip(gap)? < gap {
            return Selected::wrong();
        }
        let left = usize::try_from(place.end - self.at).unwrap_or(usize::MAX);
        let most = left.min(room.len());
        let count = self.decoded.read(&mut room[..most])?;
        if count == 0 && most > 0 {
            return Selected::wrong();
        }
        self.at += count as u64;
        if self.at == place.end {
            self.places.pop_front();
        }
        Ok(count)
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "ranges are what is compared")]
mod tests {
    use super::*;

    #[test]
    fn only_frames_that_hold_something_wanted_are_read() {
        let frame = |bytes, content_bytes| SeekableFrame { bytes, content_bytes };
        let frames = [frame(10, 100), frame(20, 100), frame(30, 100), frame(5, 0)];
        let found = |wanted: &[Range<u64>]| {
            let found = plan(&frames, 7, wanted);
            (found.pieces, found.places, found.frames, found.bytes)
        };
        assert_eq!(found(&[0..10]), (vec![7..17], vec![0..10], 1, 100));
        assert_eq!(found(&[150..160, 170..180]), (vec![17..37], vec![50..60, 70..80], 1, 100));
        assert_eq!(found(&[50..210]), (vec![7..67], vec![50..210], 3, 300));
        assert_eq!(found(&[0..100, 200..300]), (vec![7..17, 37..67], vec![0..200], 2, 200));
        assert_eq!(found(&[]), (vec![], vec![], 0, 0));
    }
}
