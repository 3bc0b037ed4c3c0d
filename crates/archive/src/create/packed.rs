//! A compressed archive as it is written: frames end within members, and an index tells where these are.

use haul_sys::sync::Mutex;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use super::frame_ends::{Extent, FrameEnds};
use crate::filter::Encode;
use crate::format::Member;
use crate::index::IndexWriter;

/// The place of a member, and its name.
type Border = (Extent, Vec<u8>);

/// Members that were begun and whose headers the encoder has not reached.
#[derive(Clone, Default)]
pub struct Borders(Arc<Mutex<VecDeque<Border>>>);

impl Borders {
    /// Takes note of a member before its headers are written.
    pub fn add(&self, member: &Member) {
        let border = (Extent::of(member), member.name.clone());
        self.0.lock().push_back(border);
    }

    /// Returns the offset of the next member.
    fn next(&self) -> Option<u64> {
        self.0.lock().front().map(|(extent, _)| extent.begin)
    }

    fn take(&self) -> Option<Border> {
        self.0.lock().pop_front()
    }
}

/// The members of an archive with frames, as the encoder reaches them.
struct Members {
    borders: Borders,
    ends: FrameEnds,
    index: IndexWriter,
}

impl Members {
    /// Takes note of the members that begin at an offset, and returns how many bytes may be written there
    /// before the next one begins.
    fn begin(&mut self, at: u64) -> io::Result<u64> {
        while let Some(offset) = self.borders.next() {
            if offset > at {
                return Ok(offset - at);
            }
            let Some((extent, name)) = self.borders.take() else { break };
            self.ends.begin_member(extent);
            self.index.add(&name, extent.begin)?;
        }
        Ok(u64::MAX)
    }
}

/// The encoder, with the members that begin in what is written to it.
pub struct Packed {
    encoder: Box<dyn Encode>,
    written: u64,
    /// Of an archive with frames.
    members: Option<Members>,
}

impl Packed {
    /// Writes to an encoder. With `borders` the archive has frames of so many bytes, and gets an index.
    #[must_use]
    pub fn new(encoder: Box<dyn Encode>, borders: Option<(Borders, u64)>) -> Packed {
        let members = borders.map(|(borders, frame_bytes)| Members {
            borders,
            ends: FrameEnds::new(frame_bytes),
            index: IndexWriter::default(),
        });
        Packed { encoder, written: 0, members }
    }

    /// Returns whether the archive gets an index.
    #[must_use]
    pub fn has_index(&self) -> bool {
        self.members.is_some()
    }

    /// Writes the end of the archive. Fails as a write.
    pub fn end(mut self) -> io::Result<()> {
        if let Some(members) = self.members.take() {
            self.encoder.attach(members.index.finish()?);
        }
        self.encoder.end()
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut most = bytes.len();
        if let Some(members) = &mut self.members {
            let to_next = members.begin(self.written)?;
            if let Some(kept) = members.ends.end_before(self.written) {
                // No frame is larger than memory.
                self.encoder.cut(usize::try_from(kept).unwrap_or(usize::MAX))?;
            }
            let room = to_next.min(members.ends.room(self.written));
            most = most.min(usize::try_from(room).unwrap_or(most));
        }
        let count = self.encoder.write(&bytes[..most])?;
        self.written += count as u64;
        if let Some(members) = &mut self.members {
            members.ends.advance(self.written);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The end of the data flushes, and a flush before would make them longer.
        Ok(())
    }
}
