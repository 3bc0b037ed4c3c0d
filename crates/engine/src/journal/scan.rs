//! Reading a journal's records, up to the first that is not whole.
//!
//! Whatever follows a torn record was never promised to be there, so reading ends with it. Memory is
//! bounded by the longest record that is ever written, whatever a length says.

use super::index::Index;
use super::record::{self, FRAME_BYTES, MOST_BYTES};
use super::sums::{Sum, Sums};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads some bytes at an offset; none at the end.
pub(super) type ReadAt<'a> = dyn FnMut(&mut [u8], u64) -> haul_sys::Result<usize> + 'a;

/// What was read, and where the last whole record ends.
pub(super) struct Scanned {
    pub(super) index: Index,
    pub(super) end: u64,
    pub(super) records: u64,
}

/// Reads the records that begin at this offset.
pub(super) fn scan(sums: &Sums, begin: u64, read_at: &mut ReadAt<'_>) -> haul_sys::Result<Scanned> {
    let mut window = Window { bytes: Vec::new(), at: begin, used: 0 };
    let mut index = Index::default();
    let (mut end, mut records) = (begin, 0);
    while let Some(length) = window.peek(FRAME_BYTES, read_at)?.and_then(record_bytes) {
        let Some(frame) = window.peek(FRAME_BYTES + length, read_at)? else { break };
        let Some((sum, bytes)) = whole(sums, frame) else { break };
        let Some(read) = record::read(bytes) else { break };
        index.take(sum, &read, (end + FRAME_BYTES as u64, length));
        window.used += FRAME_BYTES + length;
        end += (FRAME_BYTES + length) as u64;
        records += 1;
    }
    index.settle();
    Ok(Scanned { index, end, records })
}

/// Returns the length of the record behind a frame's beginning; `None` if none is so long.
fn record_bytes(frame: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*frame.first_chunk()?);
    usize::try_from(length).ok().filter(|length| (1..=MOST_BYTES).contains(length))
}

/// Returns a frame's checksum and record, if they fit each other.
fn whole<'a>(sums: &Sums, frame: &'a [u8]) -> Option<(Sum, &'a [u8])> {
    let (sum, bytes) = frame.get(4..)?.split_first_chunk()?;
    let sum = Sum::from_le_bytes(*sum);
    (sums.of(bytes) == sum).then_some((sum, bytes))
}

/// What was read and not looked at yet.
struct Window {
    bytes: Vec<u8>,
    /// Where in the file `bytes` end.
    at: u64,
    used: usize,
}

impl Window {
    /// Returns the next bytes without taking them; `None` if there are not so many.
    fn peek(&mut self, count: usize, read_at: &mut ReadAt<'_>) -> haul_sys::Result<Option<&[u8]>> {
        if self.bytes.len() - self.used < count {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        while self.bytes.len() < count {
            let filled = self.bytes.len();
            self.bytes.resize(filled + CHUNK_BYTES, 0);
            let room = self.bytes.get_mut(filled..).unwrap_or(&mut []);
            let read = read_at(room, self.at);
            let more = *read.as_ref().unwrap_or(&0);
            self.bytes.truncate(filled + more);
            self.at += more as u64;
            if read? == 0 {
                return Ok(None);
            }
        }
        Ok(self.bytes.get(self.used..self.used + count))
    }
}
