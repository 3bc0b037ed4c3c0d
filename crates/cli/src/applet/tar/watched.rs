//! An archive whose records are counted for checkpoints, while it is read or written.

use std::io::{Result, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_archive::create::Output;
use haul_archive::source::{Source, SourceError};

use super::checkpoint::Counter;

/// A source whose records are counted before they are read. Members are not moved from its file, so
/// that all bytes are counted in order.
pub(super) struct WatchedSource {
    inner: Box<dyn Source + Send>,
    counter: Counter,
    /// Bytes that are left of the record.
    left: u64,
}

impl WatchedSource {
    /// Counts the records of a source.
    pub(super) fn new(inner: Box<dyn Source + Send>, counter: Counter) -> WatchedSource {
        WatchedSource { inner, counter, left: 0 }
    }

    fn room(&mut self) -> u64 {
        if self.left == 0 {
            self.counter.record();
            self.left = self.counter.record_bytes();
        }
        self.left
    }
}

impl Source for WatchedSource {
    fn fill(&mut self, buffer: &mut [u8]) -> std::result::Result<usize, SourceError> {
        let mut done = 0;
        while done < buffer.len() {
            let most = usize::try_from(self.room()).unwrap_or(usize::MAX).min(buffer.len() - done);
            let part = &mut buffer[done..done + most];
            let count = self.inner.fill(part)?;
            self.left -= count as u64;
            done += count;
            if count < most {
                break;
            }
        }
        Ok(done)
    }

    fn skip(&mut self, bytes: u64) -> std::result::Result<u64, SourceError> {
        if bytes == u64::MAX {
            // What follows the end of the archive is no record of it.
            return self.inner.skip(bytes);
        }
        let mut done = 0;
        while done < bytes {
            let most = self.room().min(bytes - done);
            let count = self.inner.skip(most)?;
            self.left -= count;
            done += count;
            if count < most {
                break;
            }
        }
        Ok(done)
    }
}

/// A target whose records are counted when they are full.
pub(super) struct WatchedTarget<W> {
    inner: W,
    counter: Option<Counter>,
    left: u64,
}

impl<W: Write> WatchedTarget<W> {
    /// Counts the records of a target that has so many bytes already.
    pub(super) fn new(inner: W, counter: Option<Counter>, start: u64) -> WatchedTarget<W> {
        let left = counter
            .as_ref()
            .map_or(0, |counter| counter.record_bytes() - start % counter.record_bytes());
        WatchedTarget { inner, counter, left }
    }

    /// Counts the last record, and returns the target.
    pub(super) fn end(self) -> W {
        if let Some(counter) = self.counter.filter(|_| self.left == 0) {
            counter.record();
        }
        self.inner
    }
}

impl<W: Write> Write for WatchedTarget<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let Some(counter) = &self.counter else { return self.inner.write(bytes) };
        if self.left == 0 {
            counter.record();
            self.left = counter.record_bytes();
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let count = self.inner.write(&bytes[..most])?;
        self.left -= count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

impl<W: Output> Output for WatchedTarget<W> {
    /// Records are counted in order, so no room is left where they are.
    fn leave(&mut self, bytes: u64) -> Result<Option<(Arc<OwnedFd>, u64)>> {
        if self.counter.is_some() { Ok(None) } else { self.inner.leave(bytes) }
    }

    fn skip(&mut self, bytes: u64) {
        let Some(counter) = &self.counter else { return };
        let mut bytes = bytes;
        while bytes > self.left {
            bytes -= self.left;
            counter.record();
            self.left = counter.record_bytes();
        }
        self.left -= bytes;
    }

    fn has_offsets(&self) -> bool {
        self.counter.is_none() && self.inner.has_offsets()
    }
}
