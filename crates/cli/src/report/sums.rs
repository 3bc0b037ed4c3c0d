//! The sum file: a digest and a name on each line, as the ordinary programs read them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};

use haul_engine::error::Failure;
use haul_engine::monitor::{Counts, Event, HashedFile, Monitor, MovedFile, Question};
use haul_io::digest::{Algorithm, hex};

use crate::output::{Output, close_error};
use crate::sum_file;

/// A sum file that is being written. The first error ends it, and is told at the end.
pub(crate) struct SumFile {
    name: OsString,
    algorithm: &'static Algorithm,
    inner: Mutex<(BufWriter<File>, io::Result<()>)>,
}

impl SumFile {
    /// Makes the file, or empties it.
    pub(crate) fn create(name: &OsStr, algorithm: &'static Algorithm) -> io::Result<SumFile> {
        let file = BufWriter::new(File::create(name)?);
        Ok(SumFile { name: name.to_owned(), algorithm, inner: Mutex::new((file, Ok(()))) })
    }

    /// Copies, and writes down the digests that are told meanwhile. An error of the sum file is a
    /// failure of the copy.
    pub(crate) fn fill(
        &self,
        output: &Output,
        monitor: &dyn Monitor,
        copy: impl FnOnce(&dyn Monitor) -> Counts,
    ) -> Counts {
        let mut counts = copy(&Summing { sums: self, monitor });
        if let Err(error) = self.finish() {
            let name = crate::escape::quote(self.name.as_encoded_bytes());
            output.error(&format!("error writing {name}: {}", crate::output::describe(&error)));
            counts.failures += 1;
        }
        counts
    }

    /// Adds a file's line.
    fn add(&self, name: &[u8], digest: &[u8]) {
        let line = sum_file::line(self.algorithm, &hex(digest), name);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.1.is_ok() {
            inner.1 = inner.0.write_all(&line);
        }
    }

    /// Writes out what is buffered, and tells the first error.
    fn finish(&self) -> io::Result<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut inner.1, Ok(()))?;
        inner.0.flush()?;
        match inner.0.get_ref().sync_data() {
            // A pipe or a terminal has no storage to wait for, see fsync(2).
            Err(error) if error.raw_os_error() == Some(haul_sys::Errno::INVAL.raw_os_error()) => {}
            answer => answer?,
        }
        close_error(inner.0.get_ref()).map_err(|error| error.errno.into())
    }
}

/// Hears for another, and writes digests down.
struct Summing<'a> {
    sums: &'a SumFile,
    monitor: &'a dyn Monitor,
}

impl Monitor for Summing<'_> {
    fn failed(&self, failure: &Failure) {
        self.monitor.failed(failure);
    }

    fn wants_entries(&self) -> bool {
        self.monitor.wants_entries()
    }

    fn entry(&self, event: &Event) {
        self.monitor.entry(event);
    }

    fn wants_moves(&self) -> bool {
        self.monitor.wants_moves()
    }

    fn moved(&self, moved: &MovedFile) {
        self.monitor.moved(moved);
    }

    fn hashed(&self, hashed: &HashedFile) {
        self.sums.add(&hashed.target, &hashed.digest);
    }

    fn ask(&self, question: &Question) -> bool {
        self.monitor.ask(question)
    }
}
