//! A compressed archive that leaves no more pages behind than its policy says.

use std::io::{Error, Read, Result, Write};
use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::DataPolicy;
use haul_io::trail::{SourceTrail, TargetTrail};
use haul_sys::data::{read, write};

/// A file that is read at its position.
pub struct TrailedReader {
    file: OwnedFd,
    trail: SourceTrail,
}

/// A file that is written at its position.
pub struct TrailedWriter {
    file: OwnedFd,
    trail: TargetTrail,
}

impl TrailedReader {
    /// Drops pages of a file as a policy says.
    #[must_use]
    pub fn new(file: OwnedFd, policy: &DataPolicy) -> TrailedReader {
        let trail = SourceTrail::new(file.as_fd(), policy);
        TrailedReader { file, trail }
    }
}

impl Read for TrailedReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = read(&self.file, buffer).map_err(|error| Error::from(error.errno))?;
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
    #[must_use]
    pub fn new(file: OwnedFd, policy: &DataPolicy) -> TrailedWriter {
        let trail = TargetTrail::new(file.as_fd(), policy);
        TrailedWriter { file, trail }
    }
}

impl Write for TrailedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = write(&self.file, bytes).map_err(|error| Error::from(error.errno))?;
        let behind = self.trail.after_write_here(self.file.as_fd(), count as u64);
        behind.map_err(|error| error.errno)?;
        Ok(count)
    }

    /// What writes compressed data flushes once, at their end.
    fn flush(&mut self) -> Result<()> {
        self.trail.finish(self.file.as_fd()).map_err(|error| Error::from(error.errno))
    }
}
