//! A small file for other programs, which read it at moments of their own: it is replaced as a whole, and
//! never a file that is something else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use haul_io::stream::{Durable, write_all};

use crate::escape::quote;
use crate::file_error::describe;
use crate::target_file::{TargetFile, open};

/// A file that is written as a whole, as often as its writer wants.
#[derive(Debug)]
pub struct WholeFile {
    name: OsString,
    what: &'static str,
    beginning: &'static str,
}

impl WholeFile {
    /// Makes sure that the file can be written, and that it is empty, missing, or begins as all files of
    /// this kind do. `what` names the kind in messages.
    ///
    /// Fails with a message for people.
    pub fn begin(
        name: &OsStr,
        what: &'static str,
        beginning: &'static str,
    ) -> Result<WholeFile, String> {
        let file = WholeFile { name: name.to_owned(), what, beginning };
        file.refuse_other()?;
        let opened = open(name, true).map_err(|why| file.failed(&why))?;
        opened.abandon();
        Ok(file)
    }

    fn failed(&self, why: &str) -> String {
        format!("cannot write the {} {}: {why}", self.what, quote(self.name.as_bytes()))
    }

    /// Refuses to replace what is there if that is not empty and no file of this kind.
    fn refuse_other(&self) -> Result<(), String> {
        // What is not there, or cannot be reached, is reported by the attempt to write it.
        let found = std::fs::metadata(&self.name).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(self.failed("it is no regular file"));
        }
        if found.is_some_and(|found| found.len() > 0) {
            let failed = |error: &std::io::Error| self.failed(&describe(error));
            let mut there = File::open(&self.name).map_err(|error| failed(&error))?;
            let mut start = vec![0; self.beginning.len()];
            let filled = there.read(&mut start).map_err(|error| failed(&error))?;
            if start.get(..filled) != Some(self.beginning.as_bytes()) {
                return Err(format!(
                    "will not overwrite {}: it is not a file of haul's {}",
                    quote(self.name.as_bytes()),
                    self.what
                ));
            }
        }
        Ok(())
    }

    /// Returns the text that is there now; `None` if it cannot be read, or is no text of at most 1 MiB. Blocks.
    #[must_use]
    pub fn content(&self) -> Option<String> {
        const BYTES_MAX: u64 = 1 << 20;
        let mut text = String::new();
        let file = File::open(&self.name).ok()?;
        file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Replaces the file, unless it has become a file of another kind. Blocks.
    ///
    /// Fails with a message for people; the file is then what it was.
    pub fn write(&self, text: &str) -> Result<(), String> {
        self.refuse_other()?;
        let written = open(&self.name, true).and_then(|target| put(target, text.as_bytes()));
        written.map_err(|why| self.failed(&why))
    }
}

fn put(target: TargetFile, bytes: &[u8]) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    let file = target.target().file;
    match write_all(&*file, bytes, &stop) {
        // What the replaced file had and this cannot get concerns no program that reads it.
        Ok(()) => target.publish(Durable::No, |_| {}),
        Err(error) => {
            target.abandon();
            Err(error.to_string())
        }
    }
}
