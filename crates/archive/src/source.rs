//! Where an archive's bytes come from: a file that can be read anywhere, or a stream.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_io::fully::read_fully;
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
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Call(error) => f.write_str(&error.text()),
            SourceError::Decode(text) => f.write_str(text),
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
}

impl FileSource {
    /// Reads a file of this size from an offset.
    #[must_use]
    pub fn new(file: Arc<OwnedFd>, offset: u64, size: u64) -> FileSource {
        FileSource { file, size, start: offset, offset, window: Vec::new(), window_offset: 0 }
    }

    fn in_window(&self) -> &[u8] {
        let start = self.offset.checked_sub(self.window_offset).map(usize::try_from);
        match start {
            Some(Ok(start)) => self.window.get(start..).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Source for FileSource {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        if buffer.len() >= WINDOW_BYTES {
            let count = read_fully(self.file.as_fd(), buffer, self.offset)?;
            self.offset += count as u64;
            return Ok(count);
        }
        if self.in_window().len() < buffer.len() {
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

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        Some((Arc::clone(&self.file), self.start))
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
            let room = scratch.get_mut(..left).unwrap_or_default();
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

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        (**self).file()
    }
}
