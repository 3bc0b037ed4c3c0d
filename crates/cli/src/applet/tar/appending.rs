//! New members behind an archive in a regular file.
//!
//! Until all is written, the two blocks of zeros that end the old archive stay: the first blocks of the
//! first new member are written last. So an archive that could not be completed is what it was.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use haul_archive::format::BLOCK_BYTES;

/// Bytes that end an archive.
const END_BYTES: usize = 2 * BLOCK_BYTES;

/// Bytes that are gathered before the archive is written to.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// New members behind an archive.
pub(super) struct Appending {
    file: File,
    /// Where the old archive ends.
    start: u64,
    old_bytes: u64,
    /// The first bytes, which are written last.
    held: Vec<u8>,
    written: u64,
    is_committed: bool,
}

impl Appending {
    /// Writes behind the end of an archive, at `start` of a file of so many bytes.
    pub(super) fn new(file: File, start: u64, old_bytes: u64) -> Appending {
        let held = Vec::with_capacity(END_BYTES);
        Appending { file, start, old_bytes, held, written: 0, is_committed: false }
    }

    /// Makes the new members a part of the archive.
    pub(super) fn commit(mut self) -> io::Result<()> {
        self.file.set_len(self.start + self.written)?;
        self.file.write_all_at(&self.held, self.start)?;
        self.is_committed = true;
        crate::file_error::close_error(&self.file).map_err(|error| error.errno.into())
    }
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = END_BYTES - self.held.len();
        if room > 0 {
            let count = room.min(bytes.len());
            self.held.extend_from_slice(bytes.get(..count).unwrap_or_default());
            self.written += count as u64;
            return Ok(count);
        }
        let count = self.file.write_at(bytes, self.start + self.written)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Appending {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        // Whatever fails here, the archive still ends where it did, by its blocks of zeros.
        let _shortened = self.file.set_len(self.old_bytes);
        let zeros = vec![0; BUFFER_BYTES];
        let end = self.old_bytes.min(self.start + self.written);
        let mut at = self.start + END_BYTES as u64;
        while at < end {
            let count = usize::try_from(end - at).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
            let room = zeros.get(..count).unwrap_or_default();
            if self.file.write_all_at(room, at).is_err() {
                return;
            }
            at += count as u64;
        }
    }
}
