//! The file: checked before a run begins, written and named when it has ended.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::figures::Figures;
use super::text::{BEGINNING, JOB_LABEL, last_success, of};
use crate::getopt::Usage;
use crate::value::{Dash, file};
use crate::whole_file::WholeFile;

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
    file: WholeFile,
    command: String,
    job: Option<String>,
    is_written: AtomicBool,
}

impl Metrics {
    /// Makes sure that the file can be written later, and holds nothing but metrics now.
    pub(crate) fn begin(command: &str, file: &OsStr, job: Option<&str>) -> Result<Metrics, String> {
        Ok(Metrics {
            file: WholeFile::begin(file, "metrics", BEGINNING)?,
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
        common.extend(self.job.as_deref().map(|job| (JOB_LABEL, job)));
        let last_success = last_success(figures, &common, ended, || self.file.content());
        self.file.write(&of(figures, &common, ended, last_success.as_deref())).err()
    }
}
