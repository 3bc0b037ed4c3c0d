//! The sum file: a digest and a name on each line, as the ordinary programs read them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, PoisonError};

use haul_engine::error::Failure;
use haul_engine::monitor::{Counts, Event, HashedFile, Monitor, MovedFile, Question};
use haul_io::digest::{Algorithm, hex};

use crate::file_error::close_error;
use crate::output::Output;
use crate::sum_file;

/// Bytes that show what a file is. The longest line has a digest of 128 digits and a name of 8,192
/// bytes when each is escaped.
const BEGINNING_BYTES: u64 = 64 << 10;

/// A sum file that is being written. The first error ends it, and is reported at the end.
pub(crate) struct SumFile {
    name: OsString,
    algorithm: &'static Algorithm,
    inner: Mutex<(BufWriter<File>, io::Result<()>)>,
}

impl SumFile {
    /// Makes the file; one that is there is emptied if it is a sum file, too, and no operand.
    pub(crate) fn create(
        name: &OsStr,
        algorithm: &'static Algorithm,
        operands: &[OsString],
    ) -> Result<SumFile, String> {
        let shown = crate::escape::quote(name.as_encoded_bytes());
        let failed = |error: &io::Error| {
            format!("cannot create {shown}: {}", crate::file_error::describe(error))
        };
        let file = File::options().write(true).create(true).truncate(false).open(name);
        let file = file.map_err(|error| failed(&error))?;
        let now = file.metadata().map_err(|error| failed(&error))?;
        if now.is_file() {
            let is_operand = |operand: &OsString| {
                // What is not there yet is no file that could be lost.
                std::fs::metadata(operand)
                    .is_ok_and(|other| (other.dev(), other.ino()) == (now.dev(), now.ino()))
            };
            if operands.iter().any(is_operand) {
                return Err(format!("the sum file {shown} is one of the files to be copied"));
            }
            if now.len() > 0 && !begins_as_sum_file(name).map_err(|error| failed(&error))? {
                return Err(format!("will not overwrite {shown}: it is not a list of checksums"));
            }
            file.set_len(0).map_err(|error| failed(&error))?;
        }
        let inner = Mutex::new((BufWriter::new(file), Ok(())));
        Ok(SumFile { name: name.to_owned(), algorithm, inner })
    }

    /// Copies, and writes the digests that the copy reports. An error of the sum file is a
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
            output.error(&format!("error writing {name}: {}", crate::file_error::describe(&error)));
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

    /// Writes the buffered lines, and returns the first error.
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

/// Returns whether the first lines of a file are checksums, all of them.
fn begins_as_sum_file(name: &OsStr) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(name)?.take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    // The last line may be incomplete.
    let end = beginning.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let sums = sum_file::parse(beginning.get(..end).unwrap_or(&[]));
    Ok(!sums.lines.is_empty() && sums.wrong.is_empty())
}

/// Passes reports on to another monitor, and writes digests.
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

    fn all_there(&self, count: u64) {
        self.monitor.all_there(count);
    }

    fn ask(&self, question: &Question) -> bool {
        self.monitor.ask(question)
    }
}
