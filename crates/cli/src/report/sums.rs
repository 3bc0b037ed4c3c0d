//! The sum file: a digest and a name on each line, as the ordinary programs read them.
//!
//! Names with a newline, a carriage return or a backslash are escaped as GNU's programs do: the
//! line begins with a backslash and those bytes become `\\n`, `\\r` and `\\\\`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};

use haul_engine::error::Failure;
use haul_engine::monitor::{Counts, Event, HashedFile, Monitor, MovedFile, Question};
use haul_io::digest::{Algorithm, hex};

use crate::output::Output;

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
        let line = line(self.algorithm, name, digest);
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
        inner.0.get_ref().sync_data()
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

fn line(algorithm: &Algorithm, name: &[u8], digest: &[u8]) -> Vec<u8> {
    let escapes = name.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r'));
    let mut line = Vec::with_capacity(name.len() + 2 * digest.len() + 4);
    if escapes {
        line.push(b'\\');
    }
    line.extend_from_slice(algorithm.prefix.as_bytes());
    line.extend_from_slice(hex(digest).as_bytes());
    line.extend_from_slice(b"  ");
    for byte in name {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            byte => line.push(*byte),
        }
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_escaped_as_gnu_has_it() {
        let md5 = Algorithm::find("md5").expect("md5");
        assert_eq!(line(md5, b"a b", &[0xab]), b"ab  a b\n");
        assert_eq!(line(md5, b"a\nb\\", &[0xab]), b"\\ab  a\\nb\\\\\n");
        let xxh3 = Algorithm::find("xxh3").expect("xxh3");
        assert_eq!(line(xxh3, b"a", &[0xab]), b"XXH3_ab  a\n");
    }
}
