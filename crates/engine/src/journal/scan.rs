//! Reads the records of a journal, up to the first record that is not whole.
//!
//! The writer makes no guarantee about bytes behind a torn record, so reading ends there. The
//! length of the longest record that a writer produces bounds the memory, regardless of any length
//! in the file.

use super::record::{self, FRAME_BYTES, MOST_BYTES, Read, TargetIdentity};
use super::sums::{Sum, Sums};

/// Number of bytes per read.
const CHUNK_BYTES: usize = 256 << 10;

/// Maximum number of volumes: more processes than any machine for jobs starts. It bounds how many
/// names are looked up, whatever a journal says.
pub(super) const MOST_VOLUMES: u64 = 1 << 20;

/// Function that reads bytes at an offset, and returns 0 at the end.
pub(super) type ReadAt<'a> = dyn FnMut(&mut [u8], u64) -> haul_sys::Result<usize> + 'a;

/// Function that receives each record, with its checksum, its offset and its length.
pub(super) type Take<'a> = dyn FnMut(Sum, &Read<'_>, u64, usize) + 'a;

/// Result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Offset at which the last whole record ends.
    pub(super) end: u64,
    /// Number of records from which a run could resume.
    pub(super) records: u64,
    /// Target of the run, if the last record says that the run is complete.
    pub(super) complete: Option<TargetIdentity>,
    /// Number of volumes of the journal, at least 1.
    pub(super) volumes: u64,
    /// Round that the last records belong to, as the volume says.
    pub(super) round: u64,
}

impl Scanned {
    /// Returns the result for a file that has only a header of this length.
    pub(super) const fn nothing(end: u64) -> Scanned {
        Scanned { end, records: 0, complete: None, volumes: 1, round: 0 }
    }
}

/// Returns the record that these bytes are, if they are exactly one.
pub(super) fn last_record<'a>(sums: &Sums, last: &'a [u8]) -> Option<Read<'a>> {
    record_bytes(last).filter(|length| FRAME_BYTES + length == last.len())?;
    record::read(whole(sums, last)?.1)
}

/// Returns whether the last bytes of a journal are a record that the run is complete.
pub(super) fn is_complete(sums: &Sums, last: &[u8]) -> bool {
    matches!(last_record(sums, last), Some(Read::Complete { .. }))
}

/// Reads the records that begin at this offset.
pub(super) fn scan(
    sums: &Sums,
    begin: u64,
    read_at: &mut ReadAt<'_>,
    take: &mut Take<'_>,
) -> haul_sys::Result<Scanned> {
    let mut window = Window { bytes: Vec::new(), at: begin, used: 0 };
    let mut scanned = Scanned::nothing(begin);
    while let Some(length) = window.peek(FRAME_BYTES, read_at)?.and_then(record_bytes) {
        let Some(frame) = window.peek(FRAME_BYTES + length, read_at)? else { break };
        let Some((sum, bytes)) = whole(sums, frame) else { break };
        let Some(read) = record::read(bytes) else { break };
        take(sum, &read, scanned.end + FRAME_BYTES as u64, length);
        scanned.complete = match read {
            Read::Complete { target, .. } => Some(target),
            _ => None,
        };
        match read {
            Read::Volumes { count } => {
                scanned.volumes = scanned.volumes.max(count.min(MOST_VOLUMES));
            }
            Read::Round { number } => scanned.round = number,
            Read::Publishing { .. } | Read::Published { .. } => {}
            _ => scanned.records += 1,
        }
        window.used += FRAME_BYTES + length;
        scanned.end += (FRAME_BYTES + length) as u64;
    }
    Ok(scanned)
}

/// Returns the length of the record after a frame's first bytes; `None` if the length exceeds the
/// maximum.
fn record_bytes(frame: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*frame.first_chunk()?);
    usize::try_from(length).ok().filter(|length| (1..=MOST_BYTES).contains(length))
}

/// Returns a frame's checksum and record, if the checksum matches.
fn whole<'a>(sums: &Sums, frame: &'a [u8]) -> Option<(Sum, &'a [u8])> {
    let (sum, bytes) = frame.get(4..)?.split_first_chunk()?;
    let sum = Sum::from_le_bytes(*sum);
    (sums.of(bytes) == sum).then_some((sum, bytes))
}

/// Bytes that the scan has read and not parsed yet.
struct Window {
    bytes: Vec<u8>,
    /// File offset of the end of `bytes`.
    at: u64,
    used: usize,
}

impl Window {
    /// Returns the next bytes without consuming them; `None` if the file has fewer bytes.
    fn peek(&mut self, count: usize, read_at: &mut ReadAt<'_>) -> haul_sys::Result<Option<&[u8]>> {
        if self.bytes.len() - self.used < count {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        while self.bytes.len() < count {
            let filled = self.bytes.len();
            self.bytes.resize(filled + CHUNK_BYTES, 0);
            let room = &mut self.bytes[filled..];
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
