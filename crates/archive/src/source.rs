//! Where an archive's bytes come from: a file that can be read anywhere, or a stream.

use std::fmt;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_codec::Damage;
use haul_io::DataPolicy;
use haul_io::fully::read_fully;
use haul_io::trail::SourceTrail;
use haul_sys::CallError;

/// Bytes of a read of a file's headers: members of up to this size are read with their header, and
/// larger ones are skipped without being read.
const WINDOW_BYTES: usize = 64 << 10;

/// Why bytes of an archive could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// A call failed.
    Call(CallError),
    /// The compressed data are invalid, or another program that decompresses them failed.
    Decode(String),
    /// Decompressing needs more memory than it may take.
    Memory,
    /// The archive is longer than a [`CappedSource`] gives.
    TooLong,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Call(error) => f.write_str(&error.text()),
            SourceError::Decode(text) => f.write_str(text),
            SourceError::Memory => Damage::Memory.fmt(f),
            SourceError::TooLong => f.write_str("longer than the limit"),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<CallError> for SourceError {
    fn from(error: CallError) -> SourceError {
        SourceError::Call(error)
    }
}

/// The bytes of an archive in order. Calls block.
pub trait Source {
    /// Fills a buffer and returns the number of bytes, which is smaller only at the end.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError>;

    /// Skips bytes and returns their number, which is smaller only at the end.
    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError>;

    /// Returns the number of bytes that come without a read.
    fn at_hand(&self) -> usize {
        0
    }

    /// Returns the file whose bytes these are, and the offset of the first one in it, if members can
    /// be moved from it.
    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        None
    }
}

/// A file that is read by offset.
pub struct FileSource {
    file: Arc<OwnedFd>,
    /// Size when it was opened, for skipping.
    size: u64,
    start: u64,
    offset: u64,
    window: Vec<u8>,
    /// Offset of the window in the file.
    window_offset: u64,
    trail: SourceTrail,
}

impl FileSource {
    /// Reads a file of this size from an offset.
    #[must_use]
    pub fn new(file: Arc<OwnedFd>, offset: u64, size: u64) -> FileSource {
        let (window, window_offset) = (Vec::new(), 0);
        let trail = SourceTrail::default();
        FileSource { file, size, start: offset, offset, window, window_offset, trail }
    }

    /// Drops pages of the file behind what is read, as a policy says.
    #[must_use]
    pub fn caching(mut self, policy: &DataPolicy) -> FileSource {
        self.trail = SourceTrail::new(self.file.as_fd(), policy);
        self
    }

    fn leave(&mut self, range: Range<u64>) {
        self.trail.after_read(self.file.as_fd(), &range);
    }

    fn leave_window(&mut self) {
        self.leave(self.window_offset..self.window_offset + self.window.len() as u64);
    }

    fn in_window(&self) -> &[u8] {
        let start = self.offset.checked_sub(self.window_offset).map(usize::try_from);
        match start {
            Some(Ok(start)) => &self.window[start.min(self.window.len())..],
            _ => &[],
        }
    }
}

impl Source for FileSource {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        if buffer.len() >= WINDOW_BYTES {
            let count = read_fully(self.file.as_fd(), buffer, self.offset)?;
            let start = self.offset;
            self.offset += count as u64;
            self.leave(start..self.offset);
            return Ok(count);
        }
        if self.in_window().len() < buffer.len() {
            self.leave_window();
            self.window.resize(WINDOW_BYTES, 0);
            self.window_offset = self.offset;
            let count = read_fully(self.file.as_fd(), &mut self.window, self.offset)?;
            self.window.truncate(count);
        }
        let found = self.in_window();
        let count = found.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(found) {
            *to = *from;
        }
        self.offset += count as u64;
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError> {
        let bytes = bytes.min(self.size.saturating_sub(self.offset));
        self.offset += bytes;
        Ok(bytes)
    }

    fn at_hand(&self) -> usize {
        self.in_window().len()
    }

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        Some((Arc::clone(&self.file), self.start))
    }
}

/// The kernel reads ahead of what is asked for, also where members are then moved by others.
impl Drop for FileSource {
    fn drop(&mut self) {
        self.leave_window();
        self.trail.finish(self.file.as_fd());
    }
}

/// A source that fails ([`SourceError::TooLong`]) when more than a number of bytes comes from it, also by
/// skipping. Members are never moved from its file.
pub struct CappedSource<S> {
    source: S,
    left: u64,
}

impl<S: Source> CappedSource<S> {
    /// Gives this many bytes at most.
    #[must_use]
    pub const fn new(source: S, bytes: u64) -> CappedSource<S> {
        CappedSource { source, left: bytes }
    }

    /// Fails if there is another byte.
    fn demand_end(&mut self) -> Result<(), SourceError> {
        match self.source.fill(&mut [0])? {
            0 => Ok(()),
            _ => Err(SourceError::TooLong),
        }
    }
}

impl<S: Source> Source for CappedSource<S> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.source.fill(&mut buffer[..most])?;
        self.left -= count as u64;
        if count == most && most < buffer.len() {
            self.demand_end()?;
        }
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError> {
        let most = bytes.min(self.left);
        let done = self.source.skip(most)?;
        self.left -= done;
        if done == most && most < bytes {
            self.demand_end()?;
        }
        Ok(done)
    }
}

/// A reader of the standard library as a source: a pipe, or a decoder.
pub struct StreamSource<R> {
    reader: R,
    scratch: Vec<u8>,
}

impl<R: std::io::Read> StreamSource<R> {
    /// Reads a stream from where it is.
    #[must_use]
    pub fn new(reader: R) -> StreamSource<R> {
        StreamSource { reader, scratch: Vec::new() }
    }
}

impl<R: std::io::Read> Source for StreamSource<R> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        let mut done = 0;
        while let Some(room) = buffer.get_mut(done..).filter(|room| !room.is_empty()) {
            match self.reader.read(room) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(of_io(&error)),
            }
        }
        Ok(done)
    }

    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(WINDOW_BYTES, 0);
        let mut done = 0;
        let answer = loop {
            let left = usize::try_from(bytes - done).unwrap_or(usize::MAX).min(WINDOW_BYTES);
            let room = &mut scratch[..left];
            match self.fill(room) {
                Ok(0) => break Ok(done),
                Ok(count) => done += count as u64,
                Err(error) => break Err(error),
            }
        };
        self.scratch = scratch;
        answer
    }
}

/// Turns an error of a decoder or of a call below it into one of a source.
pub(crate) fn of_io(error: &std::io::Error) -> SourceError {
    let damage = error.get_ref().and_then(|inner| inner.downcast_ref::<Damage>());
    if damage == Some(&Damage::Memory) {
        return SourceError::Memory;
    }
    match haul_sys::Errno::from_io_error(error) {
        Some(errno) => SourceError::Call(CallError::new(haul_sys::Call::Read, errno)),
        None => SourceError::Decode(error.to_string()),
    }
}

impl Source for Box<dyn Source + Send> {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        (**self).fill(buffer)
    }

    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError> {
        (**self).skip(bytes)
    }

    fn at_hand(&self) -> usize {
        (**self).at_hand()
    }

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        (**self).file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capped_source_ends_or_fails() {
        let capped = |bytes| CappedSource::new(StreamSource::new(&b"0123456789"[..]), bytes);
        let mut room = [0; 16];
        assert_eq!(capped(10).fill(&mut room), Ok(10));
        assert_eq!(capped(11).fill(&mut room), Ok(10));
        assert_eq!(capped(9).fill(&mut room), Err(SourceError::TooLong));
        assert_eq!(capped(9).fill(&mut room[..9]), Ok(9));
        assert_eq!(capped(10).skip(u64::MAX), Ok(10));
        assert_eq!(capped(9).skip(u64::MAX), Err(SourceError::TooLong));
        let mut source = capped(9);
        assert_eq!(source.skip(9), Ok(9));
        assert_eq!(source.fill(&mut room[..1]), Err(SourceError::TooLong));
    }
}
