//! One run of `tar`: its messages, and whether something failed.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use haul_archive::format::{Member, ReadError};
use haul_archive::source::SourceError;
use haul_sys::memory::end_without_memory;
use haul_sys::{CallError, Errno};

use super::list_file::Complaint;
use super::quoting::{listed, named};
use super::reporting::{Reporting, Severity};
use super::settings::Settings;
use super::warning::{Warning, Warnings};
use crate::ending::point_to_help_or;
use crate::error_list::Older;
use crate::file_error::describe;
use crate::getopt::Usage;
use crate::output::Output;
use crate::sum_file::{OlderLines, SumFile};

/// The exit status of everything that fails, usage errors included.
pub(super) const FAILURE: u8 = 2;

/// The exit status of a run during which files changed.
const DIFFERS: u8 = 1;

/// The exit status of a command line that cannot be split into options and arguments (`EX_USAGE`).
pub(super) const BAD_WORDS: u8 = 64;

/// Why work on an archive ends early.
pub(super) enum Stopped {
    /// The archive cannot be read on.
    Read(ReadError),
    /// Something else, for which this is the message.
    Fatal(String),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Stopped {
        Stopped::Read(error)
    }
}

/// What ends a run with [`ReadError::TooManyAttributes`].
pub(super) const TOO_MANY_ATTRIBUTES: &str = "the attributes of directories and links in the archive take too much \
                                              memory; extract it without --xattrs, --acls and --selinux";

/// Beginnings of names that are remembered as told, and the bytes of the longest of them (`PATH_MAX`).
const REMOVED_MAX: usize = 4096;
const REMOVED_MAX_BYTES: usize = 4096;

/// A run.
pub(super) struct Session {
    pub(super) output: Output,
    /// When the run began.
    pub(super) begin: Instant,
    failed: AtomicBool,
    differs: AtomicBool,
    warnings: OnceLock<Warnings>,
    /// Where what is shown goes, if not to standard output or error.
    index: OnceLock<Mutex<BufWriter<File>>>,
    /// Where digests of files go, if they are wanted.
    sums: OnceLock<SumFile>,
    /// Beginnings of names that were removed, and whether of links.
    removed: Mutex<HashSet<(Vec<u8>, bool)>>,
    reporting: OnceLock<Reporting>,
    /// Whether standard output is for an archive, or for files.
    output_is_taken: AtomicBool,
}

impl Session {
    pub(super) fn new() -> Session {
        let output = Output::new("tar");
        // Instead of the status of other commands.
        end_without_memory("tar: memory exhausted\n".to_owned(), i32::from(FAILURE));
        Session {
            output,
            begin: Instant::now(),
            failed: AtomicBool::new(false),
            differs: AtomicBool::new(false),
            warnings: OnceLock::new(),
            index: OnceLock::new(),
            sums: OnceLock::new(),
            removed: Mutex::default(),
            reporting: OnceLock::new(),
            output_is_taken: AtomicBool::new(false),
        }
    }

    /// Says that standard output is for an archive, or for files: what is shown goes to standard error.
    pub(super) fn take_output(&self) {
        self.output_is_taken.store(true, Ordering::Relaxed);
    }

    fn shows_on_error(&self) -> bool {
        self.is_json() || self.output_is_taken.load(Ordering::Relaxed)
    }

    /// Returns what counts and tells the run, once the command line is known.
    pub(super) fn reporting(&self) -> Option<&Reporting> {
        self.reporting.get()
    }

    /// Writes the digest of a file.
    pub(super) fn hashed(&self, name: &[u8], digest: &[u8]) {
        if let Some(sums) = self.sums.get() {
            sums.add(name, digest);
        }
    }

    /// Returns the device and the inode of the list of digests, if there is one.
    pub(super) fn sum_file(&self) -> Option<(u64, u64)> {
        // One that cannot be described fails when it is written.
        self.sums.get().and_then(|sums| sums.identity().ok())
    }

    /// Writes what is left of the list of digests. Returns `false` if it is not complete, which is told once.
    pub(super) fn end_sums(&self) -> bool {
        let Some(Err(text)) =
            self.sums.get().map(|sums| sums.end(self.failed.load(Ordering::Relaxed)))
        else {
            return true;
        };
        self.fail(&text);
        false
    }

    /// Counts a member, and tells programs of it.
    pub(super) fn member(&self, member: &Member) {
        if let Some(line) = self.reporting().and_then(|reporting| reporting.member(member)) {
            self.aside(|| self.output.line(&line));
        }
    }

    /// Tells programs what would be done with a name; returns `false` if a person is to be told.
    pub(super) fn would(&self, action: &str, path: &[u8]) -> bool {
        let Some(line) = self.reporting().and_then(|reporting| reporting.would(action, path))
        else {
            return false;
        };
        self.aside(|| self.output.line(&line));
        true
    }

    /// Counts a file that was there already.
    pub(super) fn kept(&self) {
        if let Some(reporting) = self.reporting() {
            reporting.kept();
        }
    }

    /// Returns whether lines are for programs.
    pub(super) fn is_json(&self) -> bool {
        self.reporting().is_some_and(|reporting| reporting.is_json)
    }

    /// Writes to a terminal, with the line of progress out of the way.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.reporting() {
            Some(reporting) => reporting.progress.aside(write),
            None => write(),
        }
    }

    /// Prints a message, counts it, and tells programs of it.
    fn tell(&self, severity: Severity, path: Option<&[u8]>, text: &str, errno: Option<Errno>) {
        self.aside(|| self.output.error(text));
        self.count(severity, path, text, errno);
    }

    fn count(&self, severity: Severity, path: Option<&[u8]>, text: &str, errno: Option<Errno>) {
        let Some(reporting) = self.reporting() else { return };
        let line = reporting.trouble(severity, path, (text, errno));
        if matches!(severity, Severity::Failure) {
            self.output.list(|| line.clone());
        }
        if reporting.is_json {
            self.aside(|| self.output.line(&line));
        }
    }

    /// Sets up what the command line says about messages, and tells what was wrong with lists.
    pub(super) fn begin(&self, settings: &Settings, arguments: &[OsString]) -> Result<(), String> {
        // A run begins once.
        let _only_once = self.warnings.set(settings.warnings);
        let own = &settings.own;
        let is_quiet = settings.verbosity > 0 || settings.extraction.to_stdout;
        let _only_once = self.reporting.set(Reporting::new(settings.mode, own, is_quiet));
        if settings.takes_output() {
            if own.is_json {
                return Err("--json needs standard output, where the archive goes".to_owned());
            }
            self.take_output();
        }
        self.output.measure_in(&own.metrics)?;
        if let Some(file) = &own.errors {
            self.output.list_in((file, Older::Emptied), (arguments, &[]))?;
        }
        if let (Some(name), Some(algorithm)) = (&own.sum_file, own.hashes()) {
            let mut operands = settings.names.paths();
            operands.push(settings.file.clone());
            let _only_once =
                self.sums.set(SumFile::create(name, OlderLines::Removed, algorithm, &operands)?);
        }
        if let Some(name) = &settings.index_file {
            let file = File::create(name).map_err(|error| {
                format!("{}: Cannot open: {}", named(name.as_encoded_bytes()), describe(&error))
            })?;
            let _only_once = self.index.set(Mutex::new(BufWriter::new(file)));
        }
        for Complaint { text, warning } in &settings.names.complaints {
            match warning {
                Some(warning) => self.warn_of(*warning, text),
                None => self.fail(text),
            }
        }
        Ok(())
    }

    /// Returns whether a warning is printed.
    pub(super) fn warns(&self, warning: Warning) -> bool {
        self.warnings.get().copied().unwrap_or_default().has(warning)
    }

    /// Prints a warning, unless the user turned it off.
    pub(super) fn warn_of(&self, warning: Warning, text: &str) {
        if self.warns(warning) {
            self.warn(text);
        }
    }

    /// Shows a line: in the index file, or else on standard output, or on standard error where the
    /// output is for something else.
    pub(super) fn show(&self, text: &str, on_error: bool) {
        match self.index.get() {
            Some(_) => self.show_part(&format!("{text}\n")),
            None if on_error || self.shows_on_error() => {
                self.aside(|| self.output.raw_error(&format!("{text}\n")));
            }
            None => self.aside(|| self.output.line(text)),
        }
    }

    /// Shows text without a line's end, in the index file or on standard output.
    pub(super) fn show_part(&self, text: &str) {
        match self.index.get() {
            Some(file) => {
                let mut file = file.lock();
                if let Err(error) = file.write_all(text.as_bytes()) {
                    self.fail(&format!("index file: Cannot write: {}", describe(&error)));
                }
            }
            // Lines for programs are whole.
            None if self.shows_on_error() => self.output.raw_error(text),
            None => {
                self.output.bytes(text.as_bytes());
                self.output.flush();
            }
        }
    }

    /// Prints a message that does not change the exit status.
    pub(super) fn warn(&self, text: &str) {
        self.tell(Severity::Warning, None, text, None);
    }

    /// Prints a message, and the run will fail.
    pub(super) fn fail(&self, text: &str) {
        self.failed.store(true, Ordering::Relaxed);
        self.tell(Severity::Failure, None, text, None);
    }

    /// Tells once that a beginning was removed from names, or from the targets of hard links.
    pub(super) fn removed(&self, beginning: &[u8], of_links: bool) {
        if beginning.is_empty() {
            return;
        }
        let mut removed = self.removed.lock();
        let key = (beginning.to_vec(), of_links);
        // An archive can have any number of them, of any length.
        let is_new = match removed.len() < REMOVED_MAX && beginning.len() <= REMOVED_MAX_BYTES {
            true => removed.insert(key),
            false => !removed.contains(&key),
        };
        if is_new {
            let what = if of_links { "hard link targets" } else { "member names" };
            self.warn(&format!("Removing leading `{}' from {what}", listed(beginning)));
        }
    }

    /// Prints a message about a name, and the run will fail.
    pub(super) fn fail_at(&self, name: &[u8], text: &str) {
        self.fail_with(name, text, None);
    }

    /// Prints a message about a call that failed for a name, and the run will fail.
    pub(super) fn fail_call(&self, name: &[u8], what: &str, error: CallError) {
        self.fail_with(name, &format!("{what}: {}", error.text()), Some(error.errno));
    }

    fn fail_with(&self, name: &[u8], text: &str, errno: Option<Errno>) {
        self.fail_about(name, &format!("{}: {text}", named(name)), errno);
    }

    /// Prints a message that has a name in it, and the run will fail.
    pub(super) fn fail_about(&self, name: &[u8], text: &str, errno: Option<Errno>) {
        self.failed.store(true, Ordering::Relaxed);
        self.tell(Severity::Failure, Some(name), text, errno);
    }

    /// Ends a run whose command line is refused.
    pub(super) fn usage(&self, usage: &Usage, status: u8) -> ExitCode {
        self.output.error(&usage.0);
        point_to_help_or(&self.output, "Try 'tar --help' or 'tar --usage' for more information.\n");
        ExitCode::from(status)
    }

    /// Prints a message, and the run will tell that the archive differs from the files.
    pub(super) fn differ(&self, text: &str) {
        self.differs.store(true, Ordering::Relaxed);
        self.tell(Severity::Difference, None, text, None);
    }

    /// Prints a difference of a name on standard output, and the run will tell that there is one.
    pub(super) fn differ_on_output(&self, name: &[u8], text: &str) {
        self.differs.store(true, Ordering::Relaxed);
        let text = format!("{}: {text}", named(name));
        if !self.is_json() {
            self.show(&text, false);
        }
        self.count(Severity::Difference, Some(name), &text, None);
    }

    /// Takes note that the archive differs from the files.
    pub(super) fn set_differs(&self) {
        self.differs.store(true, Ordering::Relaxed);
    }

    /// Ends a run that cannot be continued.
    pub(super) fn fatal(&self, text: &str) -> ExitCode {
        self.tell(Severity::Failure, None, text, None);
        self.aside(|| self.output.error("Error is not recoverable: exiting now"));
        // What follows are the last things that can fail; the status is the same.
        let _already_failed = self.sum_up();
        ExitCode::from(FAILURE)
    }

    /// Ends the line of progress, and writes what the run has done where that is wanted. Returns `false`,
    /// with a message, if that fails.
    fn sum_up(&self) -> bool {
        let Some(reporting) = self.reporting() else { return self.output.finish() };
        reporting.progress.end();
        if let Some(line) = reporting.summary() {
            self.output.line(&line);
        }
        let is_printed = self.output.finish();
        if let Some(text) = reporting.stats() {
            self.output.raw_error(&text);
        }
        self.output.measured(|| reporting.figures()) && is_printed
    }

    /// Ends a run whose archive could not be read to its end.
    pub(super) fn unreadable(&self, archive: &[u8], error: &ReadError) -> ExitCode {
        match error {
            ReadError::UnexpectedEnd => self.fatal("Unexpected EOF in archive"),
            ReadError::TooManyAttributes => self.fatal(TOO_MANY_ATTRIBUTES),
            ReadError::Source(SourceError::Memory) => {
                let error = SourceError::Memory;
                self.fatal(&format!(
                    "{}: Cannot read: {error}; --memory=SIZE allows more",
                    named(archive)
                ))
            }
            ReadError::Source(error) => {
                self.fatal(&format!("{}: Cannot read: {error}", named(archive)))
            }
        }
    }

    /// Ends a run that stopped early.
    pub(super) fn stopped(&self, archive: &[u8], why: &Stopped) -> ExitCode {
        match why {
            Stopped::Read(error) => self.unreadable(archive, error),
            Stopped::Fatal(text) => self.fatal(text),
        }
    }

    /// Ends a run.
    pub(super) fn end(&self) -> ExitCode {
        if let Some(file) = self.index.get()
            && let Err(error) = file.lock().flush()
        {
            self.fail(&format!("index file: Cannot write: {}", describe(&error)));
        }
        self.end_sums();
        self.output.complete_list(true);
        if !self.sum_up() {
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
