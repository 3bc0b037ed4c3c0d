//! A compressed archive that leaves no pages behind, if that is asked for.

use std::fs::File;
use std::io::{Read, Result, Write};
use std::os::fd::AsFd as _;

use haul_io::Cache;
use haul_io::trail::Trail;
use haul_sys::data::seek_tell;

/// A file that is read or written at its position, from where it is now on.
pub(super) struct Trailed {
    file: File,
    /// Where it was at first, where it is, and up to where pages were dropped.
    begin: u64,
    at: u64,
    left: u64,
    trail: Trail,
}

/// Pages are dropped in steps, each with the one before: the kernel keeps large folios of which only a part is
/// covered.
const STEP_BYTES: u64 = 4 << 20;

impl Trailed {
    /// Drops pages of a file as a policy says.
    pub(super) fn new(file: File, cache: Cache) -> Trailed {
        let trail = Trail::new(file.as_fd(), cache);
        // A pipe has no position, and no pages.
        let at = seek_tell(&file).unwrap_or(0);
        Trailed { file, begin: at, at, left: at, trail }
    }
}

impl Read for Trailed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.file.read(buffer)?;
        self.at += count as u64;
        if self.at - self.left >= STEP_BYTES {
            let start = self.left.saturating_sub(STEP_BYTES);
            self.trail.after_read(self.file.as_fd(), &(start..self.at));
            self.left = self.at;
        }
        Ok(count)
    }
}

/// The kernel reads ahead.
impl Drop for Trailed {
    fn drop(&mut self) {
        let end = self.at.saturating_add(STEP_BYTES);
        self.trail.after_read(self.file.as_fd(), &(self.begin..end));
    }
}

impl Write for Trailed {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.file.write(bytes)?;
        let start = self.at;
        self.at += count as u64;
        let behind = self.trail.after_write(self.file.as_fd(), start..self.at);
        behind.map_err(|error| error.errno)?;
        Ok(count)
    }

    /// What writes compressed data flushes once, at their end.
    fn flush(&mut self) -> Result<()> {
        self.trail.finish(self.file.as_fd()).map_err(|error| error.errno)?;
        self.file.flush()
    }
}
