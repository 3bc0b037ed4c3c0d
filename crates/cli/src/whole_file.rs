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
        let shown = quote(name.as_bytes());
        let failed = |why: &str| format!("cannot write the {what} {shown}: {why}");
        // What is not there, or cannot be reached, is reported below, by the first attempt to write it.
        let found = std::fs::metadata(name).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(failed("it is no regular file"));
        }
        if found.is_some_and(|found| found.len() > 0) {
            let mut there = File::open(name).map_err(|error| failed(&describe(&error)))?;
            let mut start = vec![0; beginning.len()];
            let filled = there.read(&mut start).map_err(|error| failed(&describe(&error)))?;
            if start.get(..filled) != Some(beginning.as_bytes()) {
                return Err(format!(
                    "will not overwrite {shown}: it is not a file of haul's {what}"
                ));
            }
        }
        open(name, true).map_err(|why| failed(&why))?.abandon();
        Ok(WholeFile { name: name.to_owned(), what })
    }

    /// Replaces the file. Blocks.
    ///
    /// Fails with a message for people; the file is then what it was.
    pub fn write(&self, text: &str) -> Result<(), String> {
        let written = open(&self.name, true).and_then(|target| put(target, text.as_bytes()));
        written.map_err(|why| {
            format!("cannot write the {} {}: {why}", self.what, quote(self.name.as_bytes()))
        })
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
