//! One run of `tar`: its messages, and whether something failed.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use haul_archive::format::ReadError;

use super::quoting::{listed, named};
use crate::getopt::Usage;
use crate::output::Output;

/// The exit status of everything that fails, usage errors included.
pub(super) const FAILURE: u8 = 2;

/// The exit status of a run during which files changed.
const DIFFERS: u8 = 1;

/// The exit status of a command line that cannot be split into options and arguments (`EX_USAGE`).
pub(super) const BAD_WORDS: u8 = 64;

/// A run.
pub(super) struct Session {
    pub(super) output: Output,
    /// When the run began.
    pub(super) begin: Instant,
    failed: AtomicBool,
    differs: AtomicBool,
    /// Beginnings of names that were removed, and whether of links.
    removed: Mutex<HashSet<(Vec<u8>, bool)>>,
}

impl Session {
    pub(super) fn new() -> Session {
        Session {
            output: Output::new("tar"),
            begin: Instant::now(),
            failed: AtomicBool::new(false),
            differs: AtomicBool::new(false),
            removed: Mutex::default(),
        }
    }

    /// Prints a message that does not change the exit status.
    pub(super) fn warn(&self, text: &str) {
        self.output.error(text);
    }

    /// Prints a message, and the run will fail.
    pub(super) fn fail(&self, text: &str) {
        self.failed.store(true, Ordering::Relaxed);
        self.output.error(text);
    }

    /// Tells once that a beginning was removed from names, or from the targets of hard links.
    pub(super) fn removed(&self, beginning: &[u8], of_links: bool) {
        if beginning.is_empty() {
            return;
        }
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        if removed.insert((beginning.to_vec(), of_links)) {
            let what = if of_links { "hard link targets" } else { "member names" };
            self.warn(&format!("Removing leading `{}' from {what}", listed(beginning)));
        }
    }

    /// Prints a message about a name.
    pub(super) fn fail_at(&self, name: &[u8], text: &str) {
        self.fail(&format!("{}: {text}", named(name)));
    }

    /// Ends a run whose command line is refused.
    pub(super) fn usage(&self, usage: &Usage, status: u8) -> ExitCode {
        self.output.error(&usage.0);
        self.output.raw_error("Try 'tar --help' or 'tar --usage' for more information.\n");
        ExitCode::from(status)
    }

    /// Prints a message, and the run will tell that the archive differs from the files.
    pub(super) fn differ(&self, text: &str) {
        self.differs.store(true, Ordering::Relaxed);
        self.output.error(text);
    }

    /// Prints a difference on standard output, and the run will tell that there is one.
    pub(super) fn differ_on_output(&self, text: &str) {
        self.differs.store(true, Ordering::Relaxed);
        self.output.line(text);
    }

    /// Ends a run that cannot be continued.
    pub(super) fn fatal(&self, text: &str) -> ExitCode {
        self.output.error(text);
        self.output.error("Error is not recoverable: exiting now");
        // Standard output is the last thing that can fail; the status is the same.
        let _already_failed = self.output.finish();
        ExitCode::from(FAILURE)
    }

    /// Ends a run whose archive could not be read to its end.
    pub(super) fn unreadable(&self, archive: &[u8], error: &ReadError) -> ExitCode {
        match error {
            ReadError::UnexpectedEnd => self.fatal("Unexpected EOF in archive"),
            ReadError::Source(error) => {
                self.fatal(&format!("{}: Cannot read: {error}", named(archive)))
            }
        }
    }

    /// Ends a run.
    pub(super) fn end(&self) -> ExitCode {
        if !self.output.finish() {
            return ExitCode::from(FAILURE);
        }
        if self.failed.load(Ordering::Relaxed) {
            self.output.error("Exiting with failure status due to previous errors");
            return ExitCode::from(FAILURE);
        }
        if self.differs.load(Ordering::Relaxed) {
            return ExitCode::from(DIFFERS);
        }
        ExitCode::SUCCESS
    }
}
