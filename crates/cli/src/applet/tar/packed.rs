//! A compressed archive as it is written: frames end before members, and an index tells where they are.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use haul_archive::filter::Encode;
use haul_archive::format::Member;
use haul_archive::index::IndexWriter;

/// The beginning of a member.
struct Border {
    offset: u64,
    /// Bytes of its data.
    bytes: u64,
    name: Vec<u8>,
}

/// Members that were begun and whose headers the encoder has not reached.
#[derive(Clone, Default)]
pub(super) struct Borders(Arc<Mutex<VecDeque<Border>>>);

impl Borders {
    /// Takes note of a member before its headers are written.
    pub(super) fn add(&self, member: &Member) {
        let (offset, bytes) = (member.header_offset, member.stored_bytes);
        let border = Border { offset, bytes, name: member.name.clone() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(border);
    }

    /// Returns the offset of the next member.
    fn next(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).front().map(|border| border.offset)
    }

    fn take(&self) -> Option<Border> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The encoder, with the members that begin in what is written to it.
pub(super) struct Packed {
    encoder: Box<dyn Encode>,
    written: u64,
    /// Where members begin, and the index of them, if the archive has one.
    members: Option<(Borders, IndexWriter)>,
}

impl Packed {
    /// Writes to an encoder. With `borders` the archive gets an index.
    pub(super) fn new(encoder: Box<dyn Encode>, borders: Option<Borders>) -> Packed {
        let members = borders.map(|borders| (borders, IndexWriter::default()));
        Packed { encoder, written: 0, members }
    }

    /// Returns whether the archive gets an index.
    pub(super) fn has_index(&self) -> bool {
        self.members.is_some()
    }

    /// Writes the end of the archive.
    pub(super) fn end(mut self) -> io::Result<()> {
        if let Some((_, index)) = self.members.take() {
            self.encoder.attach(index.finish()?);
        }
        self.encoder.end()
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut most = bytes.len();
        if let Some((borders, index)) = &mut self.members {
            while let Some(offset) = borders.next() {
                if offset > self.written {
                    most = most.min(usize::try_from(offset - self.written).unwrap_or(most));
                    break;
                }
                let Some(border) = borders.take() else { break };
                self.encoder.border(border.bytes);
                index.add(&border.name, border.offset)?;
            }
        }
        let count = self.encoder.write(bytes.get(..most).unwrap_or(bytes))?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The end of the data flushes, and a flush before would make them longer.
        Ok(())
    }
}
