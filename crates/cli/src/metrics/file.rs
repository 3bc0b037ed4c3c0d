//! The file: checked before a run begins, written and named when it has ended.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use haul_io::stream::{Durable, write_all};

use super::figures::Figures;
use super::text::{BEGINNING, of};
use crate::escape::quote;
use crate::file_error::describe;
use crate::getopt::Usage;
use crate::option::value::{Dash, file};
use crate::target_file::{TargetFile, open};

/// What the command line says about metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Where they are written.
    pub(crate) file: Option<OsString>,
    /// The label of the run.
    pub(crate) job: Option<String>,
}

impl Wanted {
    /// Applies `--metrics`.
    pub(crate) fn set_file(&mut self, value: Option<OsString>) -> Result<(), Usage> {
        self.file = Some(file("--metrics", value, Dash::NoOutput)?);
        Ok(())
    }

    /// Applies `--job`.
    pub(crate) fn set_job(&mut self, value: Option<&OsStr>) -> Result<(), Usage> {
        let word = value.unwrap_or_default();
        let Some(text) = word.to_str().filter(|text| !text.is_empty()) else {
            let word = crate::escape::quote_word(word.as_bytes());
            return Err(Usage(format!("invalid --job {word}: give a name in UTF-8")));
        };
        self.job = Some(text.to_owned());
        Ok(())
    }

    /// Refuses a name without a file.
    pub(crate) fn settle(&self) -> Result<(), Usage> {
        if self.job.is_some() && self.file.is_none() {
            return Err(Usage("--job is a label of --metrics, which is not given".to_owned()));
        }
        Ok(())
    }
}

/// The metrics of a run that has begun.
#[derive(Debug)]
pub(crate) struct Metrics {
    file: OsString,
    command: String,
    job: Option<String>,
    is_written: AtomicBool,
}

impl Metrics {
    /// Makes sure that the file can be written later, and holds nothing but metrics now.
    pub(crate) fn begin(command: &str, file: &OsStr, job: Option<&str>) -> Result<Metrics, String> {
        let shown = quote(file.as_bytes());
        let failed = |why: &str| format!("cannot write the metrics {shown}: {why}");
        // What is not there, or cannot be reached, is reported below, by the first attempt to write it.
        let found = std::fs::metadata(file).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(failed("it is no regular file"));
        }
        if found.is_some_and(|found| found.len() > 0) {
            let mut there = File::open(file).map_err(|error| failed(&describe(&error)))?;
            let mut beginning = [0; BEGINNING.len()];
            let filled = there.read(&mut beginning).map_err(|error| failed(&describe(&error)))?;
            if beginning.get(..filled) != Some(BEGINNING.as_bytes()) {
                return Err(format!(
                    "will not overwrite {shown}: it is not a file of haul's metrics"
                ));
            }
        }
        open(file, true).map_err(|why| failed(&why))?.abandon();
        Ok(Metrics {
            file: file.to_owned(),
            command: command.to_owned(),
            job: job.map(str::to_owned),
            is_written: AtomicBool::new(false),
        })
    }

    /// Writes the file, if this is not done yet; returns the message if that fails.
    pub(crate) fn write(&self, figures: &Figures) -> Option<String> {
        if self.is_written.swap(true, Ordering::Relaxed) {
            return None;
        }
        let ended = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut common = vec![("command", self.command.as_str())];
        common.extend(self.job.as_deref().map(|job| ("job", job)));
        let text = of(figures, &common, ended);
        let written = open(&self.file, true).and_then(|target| put(target, text.as_bytes()));
        let why = written.err()?;
        Some(format!("cannot write the metrics {}: {why}", quote(self.file.as_bytes())))
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
