//! The file that an uncompressed archive is written to: whole records in order, and in a regular file
//! also room that other threads fill.

use std::io::{Error, Result, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_io::DataPolicy;
use haul_io::fully::{write_fully, write_whole};
use haul_io::trail::TargetTrail;
use haul_sys::data::seek_tell;

/// Bytes that are gathered before the file is written to, if a record is not larger.
const BUFFER_BYTES: usize = 256 << 10;

/// What room for a member begins with until its header is written: no header, so that the archive of a
/// run that was killed does not end there as a complete archive does.
const UNFINISHED: &[u8; 512] = &{
    let mut block = [b' '; 512];
    let text = b"The program that wrote this archive was interrupted. ";
    let mut at = 0;
    while at < text.len() {
        block[at] = text[at];
        at += 1;
    }
    block
};

/// Where the bytes of an archive go.
pub trait Output: Write {
    /// Leaves room for so many bytes, which the caller writes to the file itself, and returns the file
    /// and their offset in it. Until then the room begins with [`UNFINISHED`]. `None` if the bytes have
    /// to be written in order. Blocks.
    fn leave(&mut self, _bytes: u64) -> Result<Option<(Arc<OwnedFd>, u64)>> {
        Ok(None)
    }

    /// Takes note of bytes that are not written, because the archive goes nowhere.
    fn skip(&mut self, _bytes: u64) {}

    /// Returns whether [`Output::leave`] leaves room.
    fn has_offsets(&self) -> bool {
        false
    }
}

impl Output for Vec<u8> {}

/// How the file is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By offset, from its beginning: a regular file that only this process writes.
    Offsets,
    /// At its position, several records at a time: a pipe, or a file that another process opened.
    Position,
    /// At its position, one record at a time: a device, where each request may make a block.
    Records,
}

/// A file that an archive is written to.
pub struct ArchiveFile {
    file: Arc<OwnedFd>,
    place: Place,
    record_bytes: usize,
    buffer: Vec<u8>,
    /// Bytes that are gathered at most.
    most: usize,
    /// Offset of the first byte of the buffer.
    at: u64,
    /// Position of the first byte of the archive in the file, where it is written at that.
    position: u64,
    trail: TargetTrail,
}

impl ArchiveFile {
    /// Writes to a file, in records of this size.
    #[must_use]
    pub fn new(file: Arc<OwnedFd>, place: Place, record_bytes: usize) -> ArchiveFile {
        let record_bytes = record_bytes.max(1);
        let most = (BUFFER_BYTES / record_bytes).max(1) * record_bytes;
        let buffer = Vec::with_capacity(most);
        let trail = TargetTrail::default();
        ArchiveFile { file, place, record_bytes, buffer, most, at: 0, position: 0, trail }
    }

    /// Drops pages of the file behind what is written, as a policy says.
    #[must_use]
    pub fn caching(mut self, policy: &DataPolicy) -> ArchiveFile {
        if self.place != Place::Offsets {
            // A pipe has no position, and no pages.
            self.position = seek_tell(&*self.file).unwrap_or(0);
        }
        self.trail = TargetTrail::new(self.file.as_fd(), policy);
        self
    }

    /// Returns the file, once all bytes were written. Blocks.
    pub fn into_file(mut self) -> Result<Arc<OwnedFd>> {
        self.flush()?;
        let range = self.position..self.position + self.at;
        let finished = self.trail.finish_range(self.file.as_fd(), &range);
        finished.map_err(|error| Error::from(error.errno))?;
        Ok(self.file)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self.place {
            Place::Offsets => write_fully(self.file.as_fd(), bytes, self.at),
            Place::Position => write_whole(self.file.as_fd(), bytes),
            Place::Records => bytes
                .chunks(self.record_bytes)
                .try_for_each(|record| write_whole(self.file.as_fd(), record)),
        };
        written.map_err(|error| Error::from(error.errno))?;
        let start = self.position + self.at;
        self.at += bytes.len() as u64;
        let range = start..self.position + self.at;
        let dropped = self.trail.after_write(self.file.as_fd(), range);
        dropped.map_err(|error| Error::from(error.errno))
    }
}

impl Write for ArchiveFile {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.buffer.is_empty() && bytes.len() >= self.most {
            let whole = bytes.len() / self.most * self.most;
            self.put(&bytes[..whole])?;
            return Ok(whole);
        }
        let count = bytes.len().min(self.most - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        if self.buffer.len() == self.most {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let answer = if buffer.is_empty() { Ok(()) } else { self.put(&buffer) };
        buffer.clear();
        self.buffer = buffer;
        answer
    }
}

impl Output for ArchiveFile {
    fn leave(&mut self, bytes: u64) -> Result<Option<(Arc<OwnedFd>, u64)>> {
        if self.place != Place::Offsets {
            return Ok(None);
        }
        self.flush()?;
        let at = self.at;
        let room = usize::try_from(bytes).unwrap_or(usize::MAX).min(UNFINISHED.len());
        write_fully(self.file.as_fd(), &UNFINISHED[..room], at)
            .map_err(|error| Error::from(error.errno))?;
        self.at += bytes;
        Ok(Some((Arc::clone(&self.file), at)))
    }

    fn has_offsets(&self) -> bool {
        self.place == Place::Offsets
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn room_is_left_between_what_is_written() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let mut file = ArchiveFile::new(
            Arc::new(std::fs::File::create(&path).unwrap().into()),
            Place::Offsets,
            512,
        );
        file.write_all(b"head").unwrap();
        let (room, at) = file.leave(3).unwrap().unwrap();
        file.write_all(b"tail").unwrap();
        // No block of zeros, which would end the archive.
        assert_eq!(std::fs::read(&path).unwrap().get(4..7), Some(&b"The"[..]));
        write_fully(room.as_fd(), b"mid", at).unwrap();
        file.into_file().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"headmidtail");
    }

    #[test]
    fn a_device_gets_one_record_at_a_time() {
        let (mut reader, writer) = std::os::unix::net::UnixDatagram::pair()
            .map(|(one, other)| (std::fs::File::from(OwnedFd::from(one)), other))
            .unwrap();
        let mut file = ArchiveFile::new(Arc::new(writer.into()), Place::Records, 1024);
        file.write_all(&[7; 700]).unwrap();
        file.write_all(&[8; 2372]).unwrap();
        file.into_file().unwrap();
        let mut room = [0; 4096];
        let sizes = [(); 3].map(|()| reader.read(&mut room).unwrap());
        assert_eq!(sizes, [1024, 1024, 1024]);
    }
}
