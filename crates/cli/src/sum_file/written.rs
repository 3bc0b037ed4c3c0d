//! A sum file that is written: a digest and a name on each line, as the ordinary programs read them.

use haul_sys::sync::Mutex;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write};
use std::os::unix::fs::MetadataExt as _;

use haul_io::digest::{Algorithm, hex};

use crate::file_error::close_error;
use crate::own_lock::is_in_use;

/// Bytes that show what a file is. The longest line has a digest of 128 digits and a name of 8,192
/// bytes when each is escaped.
const BEGINNING_BYTES: u64 = 64 << 10;

/// What becomes of the lines of a sum file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OlderLines {
    Removed,
    /// They stay, for a run that goes on with what the run that wrote them could not do.
    Kept,
}

/// A sum file that is being written. The first error ends it, and is reported at the end.
pub(crate) struct SumFile {
    name: OsString,
    algorithm: &'static Algorithm,
    inner: Mutex<Inner>,
}

struct Inner {
    file: BufWriter<File>,
    result: io::Result<()>,
    /// Whether the lines of an older list are gone.
    is_emptied: bool,
    has_ended: bool,
}

impl Inner {
    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        self.empty()?;
        self.file.write_all(line)
    }

    fn empty(&mut self) -> io::Result<()> {
        let file = self.file.get_ref();
        if !self.is_emptied && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        self.is_emptied = true;
        Ok(())
    }
}

impl SumFile {
    /// Opens the file, and makes it if it is missing. One that is there has to be a sum file, too, and no
    /// operand, and no other run may write it; it is emptied before the first line is written, or gets more
    /// lines.
    pub(crate) fn create(
        name: &OsStr,
        older: OlderLines,
        algorithm: &'static Algorithm,
        operands: &[OsString],
    ) -> Result<SumFile, String> {
        let shown = crate::escape::quote(name.as_encoded_bytes());
        let failed = |error: &io::Error| {
            format!("cannot create {shown}: {}", crate::file_error::describe(error))
        };
        // A pipe that is open for reading, too, would never report that its reader is gone.
        let file = File::options().write(true).create(true).truncate(false).open(name);
        let file = file.map_err(|error| failed(&error))?;
        let now = file.metadata().map_err(|error| failed(&error))?;
        if now.is_file() {
            let is_operand = |operand: &OsString| {
                // What is not there yet is no file that could be lost.
                std::fs::metadata(operand)
                    .is_ok_and(|other| (other.dev(), other.ino()) == (now.dev(), now.ino()))
            };
            if is_in_use(&file) {
                return Err(format!("cannot create {shown}: another run writes it"));
            }
            if operands.iter().any(is_operand) {
                return Err(format!("the sum file {shown} is one of the operands"));
            }
            if now.len() > 0 && !begins_as_sum_file(name).map_err(|error| failed(&error))? {
                return Err(format!("will not overwrite {shown}: it is not a list of checksums"));
            }
            if older == OlderLines::Kept {
                go_to_end(name, &file).map_err(|error| failed(&error))?;
            }
        }
        let file = BufWriter::new(file);
        let is_emptied = older == OlderLines::Kept;
        let inner = Inner { file, result: Ok(()), is_emptied, has_ended: false };
        Ok(SumFile { name: name.to_owned(), algorithm, inner: Mutex::new(inner) })
    }

    /// Returns the device and the inode of the file.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let inner = self.inner.lock();
        let now = inner.file.get_ref().metadata()?;
        Ok((now.dev(), now.ino()))
    }

    /// Writes what is left. Fails with what is told of the first error. A second call does nothing. A run that
    /// failed and has no line leaves the lines of an older list.
    pub(crate) fn end(&self, has_failed: bool) -> Result<(), String> {
        let name = crate::escape::quote(self.name.as_encoded_bytes());
        let error = match self.finish(has_failed) {
            Ok(true) => return Ok(()),
            Ok(false) => "another file has its name by now".to_owned(),
            Err(error) => crate::file_error::describe(&error),
        };
        Err(format!("error writing {name}: {error}"))
    }

    /// Adds a file's line.
    pub(crate) fn add(&self, name: &[u8], digest: &[u8]) {
        let line = super::line(self.algorithm, &hex(digest), name);
        let mut inner = self.inner.lock();
        if inner.result.is_ok() {
            inner.result = inner.add(&line);
        }
    }

    /// Writes the buffered lines, and returns whether the name still is that of the file; or the first error.
    fn finish(&self, has_failed: bool) -> io::Result<bool> {
        let mut inner = self.inner.lock();
        if std::mem::replace(&mut inner.has_ended, true) {
            return Ok(true);
        }
        std::mem::replace(&mut inner.result, Ok(()))?;
        if !has_failed {
            inner.empty()?;
        }
        inner.file.flush()?;
        let file = inner.file.get_ref();
        match file.sync_data() {
            // A pipe or a terminal has no storage to wait for, see fsync(2).
            Err(error) if error.raw_os_error() == Some(haul_sys::Errno::INVAL.raw_os_error()) => {}
            answer => answer?,
        }
        close_error(file).map_err(|error| io::Error::from(error.errno))?;
        let now = file.metadata()?;
        let is_same =
            |named: std::fs::Metadata| (named.dev(), named.ino()) == (now.dev(), now.ino());
        Ok(!now.is_file() || std::fs::metadata(&self.name).is_ok_and(is_same))
    }
}

/// Goes to the end of the last whole line, and removes what a killed run left behind it.
fn go_to_end(name: &OsStr, mut file: &File) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    let start = bytes.saturating_sub(BEGINNING_BYTES);
    let mut last = Vec::new();
    let mut there = File::open(name)?;
    there.seek(io::SeekFrom::Start(start))?;
    there.take(BEGINNING_BYTES).read_to_end(&mut last)?;
    let whole = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = start + whole as u64;
    file.set_len(end)?;
    file.seek(io::SeekFrom::Start(end)).map(drop)
}

/// Returns whether the first lines of a file are checksums, all of them.
fn begins_as_sum_file(name: &OsStr) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(name)?.take(BEGINNING_BYTES).read_to_end(&mut beginning)?;
    // The last line may be incomplete.
    let end = beginning.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let sums = super::parse(&beginning[..end]);
    Ok(!sums.lines.is_empty() && sums.wrong.is_empty())
}
