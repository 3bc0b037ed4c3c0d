//! A compressed archive that leaves no more pages behind than its policy says.

use std::fs::File;
use std::io::{Read, Result, Write};
use std::os::fd::AsFd as _;

use haul_io::DataPolicy;
use haul_io::trail::{SourceTrail, TargetTrail};

/// A file that is read at its position.
pub(super) struct TrailedReader {
    file: File,
    trail: SourceTrail,
}

/// A file that is written at its position.
pub(super) struct TrailedWriter {
    file: File,
    trail: TargetTrail,
}

impl TrailedReader {
    /// Drops pages of a file as a policy says.
    pub(super) fn new(file: File, policy: &DataPolicy) -> TrailedReader {
        let trail = SourceTrail::new(file.as_fd(), policy);
        TrailedReader { file, trail }
    }
}

impl Read for TrailedReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.file.read(buffer)?;
        self.trail.after_read_here(self.file.as_fd(), count as u64);
        Ok(count)
    }
}

impl Drop for TrailedReader {
    fn drop(&mut self) {
        self.trail.finish(self.file.as_fd());
    }
}

impl TrailedWriter {
    /// Drops pages of a file as a policy says.
    pub(super) fn new(file: File, policy: &DataPolicy) -> TrailedWriter {
        let trail = TargetTrail::new(file.as_fd(), policy);
        TrailedWriter { file, trail }
    }
}

impl Write for TrailedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.file.write(bytes)?;
        let behind = self.trail.after_write_here(self.file.as_fd(), count as u64);
        behind.map_err(|error| error.errno)?;
        Ok(count)
    }

    /// What writes compressed data flushes once, at their end.
    fn flush(&mut self) -> Result<()> {
        self.trail.finish(self.file.as_fd()).map_err(|error| error.errno)?;
        self.file.flush()
    }
}
