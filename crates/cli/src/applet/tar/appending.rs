//! New members behind an archive in a regular file.
//!
//! Until all is written, the two blocks of zeros that end the old archive stay: the first blocks of the
//! first new member are written last. So an archive that could not be completed is what it was, also if a
//! signal ends the run.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;

use haul_archive::format::BLOCK_BYTES;

use super::unfinished::demand_running;

/// Bytes that end an archive.
pub(super) const END_BYTES: usize = 2 * BLOCK_BYTES;

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
        demand_running()?;
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
            self.held.extend_from_slice(&bytes[..count]);
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
        // From the first block on: what failed may have been the writing of those that were held back. The
        // old archive has zeros there, so it ends where it did.
        let _shortened = self.file.set_len(self.old_bytes);
        let zeros = vec![0; BUFFER_BYTES];
        let end = self.old_bytes.min(self.start + self.written);
        let mut at = self.start;
        while at < end {
            let count = usize::try_from(end - at).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
            let room = &zeros[..count];
            if self.file.write_all_at(room, at).is_err() {
                return;
            }
            at += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read, write};
    use std::io::Write as _;
    use std::os::unix::fs::FileExt as _;

    use super::{Appending, BLOCK_BYTES, END_BYTES};

    /// An archive of one block, its end, and the rest of its record.
    fn archive(room: usize) -> Vec<u8> {
        let mut bytes = vec![b'a'; BLOCK_BYTES];
        bytes.resize(BLOCK_BYTES + room, 0);
        bytes
    }

    /// What stays of an archive when so many bytes were added, and so many of those that are written last
    /// had been written when the writing failed.
    fn after_failure(room: usize, added: usize, ended_after: usize) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("archive");
        write(&path, archive(room)).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let second = file.try_clone().unwrap();
        let old_bytes = file.metadata().unwrap().len();
        let mut appending = Appending::new(file, BLOCK_BYTES as u64, old_bytes);
        appending.write_all(&vec![b'n'; added]).unwrap();
        let written = vec![b'n'; ended_after.min(added)];
        second.write_all_at(&written, BLOCK_BYTES as u64).unwrap();
        drop(appending);
        read(&path).unwrap()
    }

    #[test]
    fn an_archive_that_could_not_be_completed_is_what_it_was() {
        for room in [END_BYTES, 19 * BLOCK_BYTES, 600 * BLOCK_BYTES] {
            for added in [0, 1, BLOCK_BYTES, END_BYTES, END_BYTES + 1, 700 * BLOCK_BYTES] {
                for ended_after in [0, 1, BLOCK_BYTES, END_BYTES - 1, END_BYTES] {
                    assert!(
                        after_failure(room, added, ended_after) == archive(room),
                        "{room} {added} {ended_after}"
                    );
                }
            }
        }
    }
}
