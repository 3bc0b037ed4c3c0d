//! The archive as it is written: bytes in order, counted, and padded to whole records at the end.

use std::io::Result;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::archive_file::Output;
use crate::format::BLOCK_BYTES;

/// An archive that is being written.
pub struct Sink<W> {
    target: W,
    written: u64,
}

impl<W: Output> Sink<W> {
    /// Writes to a target.
    #[must_use]
    pub const fn new(target: W) -> Sink<W> {
        Sink { target, written: 0 }
    }

    /// Writes to a target that has so many bytes of the archive already.
    #[must_use]
    pub const fn behind(target: W, written: u64) -> Sink<W> {
        Sink { target, written }
    }

    /// Returns the number of bytes of the archive so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Writes bytes. Blocks.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.target.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Counts bytes that are not written, because the archive goes nowhere.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.target.skip(bytes);
        self.written += bytes;
    }

    /// Leaves room for so many bytes, if the target has offsets; see [`Output::leave`].
    pub(super) fn leave(&mut self, bytes: u64) -> Result<Option<(Arc<OwnedFd>, u64)>> {
        let room = self.target.leave(bytes)?;
        if room.is_some() {
            self.written += bytes;
        }
        Ok(room)
    }

    /// Returns whether the target has offsets.
    pub(super) fn has_offsets(&self) -> bool {
        self.target.has_offsets()
    }

    /// Writes zeros.
    pub fn zeros(&mut self, bytes: u64) -> Result<()> {
        let zeros = [0; 8192];
        let mut left = bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            self.put(&zeros[..count])?;
            left -= count as u64;
        }
        Ok(())
    }

    /// Writes zeros up to a whole block.
    pub fn pad(&mut self) -> Result<()> {
        self.zeros(self.written.next_multiple_of(BLOCK_BYTES as u64) - self.written)
    }

    /// Writes the end of the archive: two blocks of zeros, and more up to a whole record. Returns the
    /// target.
    pub fn end(mut self, record_bytes: u64) -> Result<W> {
        self.zeros(2 * BLOCK_BYTES as u64)?;
        self.zeros(self.written.next_multiple_of(record_bytes) - self.written)?;
        self.target.flush()?;
        Ok(self.target)
    }
}
