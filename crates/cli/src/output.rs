//! Standard output and standard error: whole lines, in order, and no lost error.

use haul_sys::sync::Mutex;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use haul_start::{Standard, was_closed};

use crate::error_list::{ErrorList, Older};
use crate::file_error::{close_error, describe};
use crate::held_back;
use crate::metrics::{Figures, Metrics, Wanted};
use crate::relayed::{Print, Stream};

/// Where an applet writes. Shared by the workers of a run; a line is never torn.
pub(crate) struct Output {
    program: String,
    inner: Mutex<Inner>,
    /// Whether standard output is a terminal, once that was asked.
    live: OnceLock<bool>,
    /// Where everything goes if another process prints it.
    relay: Option<Arc<Print>>,
    errors: OnceLock<ErrorList>,
    metrics: OnceLock<Metrics>,
}

struct Inner {
    buffer: Vec<u8>,
    failed: Option<io::Error>,
}

/// Bytes that are gathered before standard output is written to, when it is not a terminal.
const BUFFER_BYTES: usize = 64 << 10;

impl Output {
    pub(crate) fn new(program: &str) -> Output {
        haul_sys::memory::end_without_memory(format!("{program}: memory exhausted\n"), 1);
        Output {
            program: program.to_owned(),
            inner: Mutex::new(Inner { buffer: Vec::new(), failed: None }),
            live: OnceLock::new(),
            relay: None,
            errors: OnceLock::new(),
            metrics: OnceLock::new(),
        }
    }

    /// Creates an output whose lines another process prints. Lines of the list of errors always go
    /// there, because only that process knows whether there is a list.
    pub(crate) fn relayed(program: &str, relay: Arc<Print>) -> Output {
        Output { live: OnceLock::from(false), relay: Some(relay), ..Output::new(program) }
    }

    /// Lists what goes wrong in a file as well (`--errors FILE`).
    pub(crate) fn list_in(
        &self,
        (file, older): (&OsStr, Older),
        words: (&[OsString], &[OsString]),
    ) -> Result<(), String> {
        let list = ErrorList::create(file, older, &self.program, words)?;
        // An applet asks once.
        let _only_once = self.errors.set(list);
        Ok(())
    }

    /// Records that the run has come to its end, for the list of what went wrong, if there is one.
    /// `is_whole` tells whether everything that was not done is on the list.
    pub(crate) fn complete_list(&self, is_whole: bool) {
        if let Some(list) = self.errors.get() {
            list.complete(is_whole);
        }
    }

    /// Returns whether this process lists what goes wrong.
    pub(crate) fn has_list(&self) -> bool {
        self.errors.get().is_some()
    }

    /// Adds a line to the list of what went wrong, if there is one.
    pub(crate) fn list(&self, line: impl FnOnce() -> String) {
        if let Some(relay) = &self.relay {
            return relay(Stream::List, line().as_bytes());
        }
        if let Some(list) = self.errors.get() {
            list.push(&line());
        }
    }

    /// Writes what the run has done in a file as well (`--metrics FILE`), if that is wanted.
    pub(crate) fn measure_in(&self, wanted: &Wanted) -> Result<(), String> {
        let Some(file) = &wanted.file else { return Ok(()) };
        let metrics = Metrics::begin(&self.program, file, wanted.job.as_deref())?;
        // An applet asks once.
        let _only_once = self.metrics.set(metrics);
        Ok(())
    }

    /// Returns whether the metrics of the run are wanted.
    pub(crate) fn is_measured(&self) -> bool {
        self.metrics.get().is_some()
    }

    /// Writes the metrics of a run that has ended, if they are wanted and not written yet; returns
    /// `false`, with a message, if that fails.
    pub(crate) fn measured(&self, figures: impl FnOnce() -> Figures) -> bool {
        match self.metrics.get().and_then(|metrics| metrics.write(&figures())) {
            None => true,
            Some(text) => {
                self.error(&text);
                false
            }
        }
    }

    /// Returns whether standard output is a terminal of this process.
    pub(crate) fn is_live(&self) -> bool {
        *self.live.get_or_init(|| io::stdout().is_terminal())
    }

    /// Returns the name that messages begin with.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Prints a line on standard output.
    pub(crate) fn line(&self, text: &str) {
        if let Some(relay) = &self.relay {
            return relay(Stream::Output, format!("{text}\n").as_bytes());
        }
        let mut inner = self.inner.lock();
        inner.buffer.extend_from_slice(text.as_bytes());
        inner.buffer.push(b'\n');
        if self.is_live() || inner.buffer.len() >= BUFFER_BYTES {
            inner.flush();
        }
    }

    /// Prints a line that is only worth something now, with all that waits before it.
    pub(crate) fn line_now(&self, text: &str) {
        self.line(text);
        self.flush();
    }

    /// Prints bytes on standard output, which hold whole lines.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        if let Some(relay) = &self.relay {
            return relay(Stream::Output, bytes);
        }
        let mut inner = self.inner.lock();
        inner.buffer.extend_from_slice(bytes);
        if self.is_live() || inner.buffer.len() >= BUFFER_BYTES {
            inner.flush();
        }
    }

    /// Writes out what was gathered, before a person is asked something.
    pub(crate) fn flush(&self) {
        self.inner.lock().flush();
    }

    /// Prints a message on standard error, after the program's name.
    pub(crate) fn error(&self, text: &str) {
        self.raw_error(&format!("{}: {text}\n", self.program));
    }

    /// Prints text on standard error as it is. There is nowhere to tell that this failed.
    pub(crate) fn raw_error(&self, text: &str) {
        self.raw_error_bytes(text.as_bytes());
    }

    /// Prints bytes on standard error as they are: a name need not be text.
    pub(crate) fn raw_error_bytes(&self, text: &[u8]) {
        if let Some(relay) = &self.relay {
            return relay(Stream::Error, text);
        }
        // Held, so that a line of output is complete before the message about it.
        let mut inner = self.inner.lock();
        if self.is_live() {
            inner.flush();
        }
        let _nowhere_to_tell = io::stderr().write_all(text);
    }

    /// Prints what another process relays.
    pub(crate) fn print(&self, stream: Stream, text: &[u8]) {
        match stream {
            Stream::Output => self.bytes(text),
            Stream::Error => self.raw_error_bytes(text),
            // Only a command that has results reads them.
            Stream::Result => {}
            Stream::List => self.list(|| String::from_utf8_lossy(text).into_owned()),
        }
    }

    /// Writes everything out; returns `false`, with a message, if standard output, or the list of
    /// errors, could not take it.
    pub(crate) fn finish(&self) -> bool {
        let listed = match self.errors.get().and_then(ErrorList::end) {
            None => true,
            Some(text) => {
                self.error(&text);
                false
            }
        };
        let failed = {
            let mut inner = self.inner.lock();
            inner.flush();
            inner.failed.take()
        };
        match failed {
            None => listed,
            Some(error) => {
                self.error(&format!("write error: {}", describe(&error)));
                false
            }
        }
    }
}

impl Inner {
    fn flush(&mut self) {
        if !self.buffer.is_empty() && self.failed.is_none() {
            let mut stdout = io::stdout().lock();
            // Where it was closed, the standard library writes to /dev/null instead.
            let written = if was_closed(Standard::Output) {
                Err(haul_sys::Errno::BADF.into())
            } else {
                stdout.write_all(&self.buffer).and_then(|()| stdout.flush())
            };
            self.failed = written.err();
        }
        self.buffer.clear();
    }
}

/// Returns whether the terminal knows control sequences, see terminfo(5).
pub(crate) fn can_draw() -> bool {
    std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb")
}

/// Reports what closing standard output and standard error reports, and returns the exit status.
/// Every applet ends here, as every GNU tool does in `close_stdout`.
pub(crate) fn close_output(program: &str, code: ExitCode, unwritten: ExitCode) -> ExitCode {
    if let Some(text) = held_back::told() {
        let text = format!("{program}: {text}\n");
        let _nowhere_to_tell = io::stderr().write_all(text.as_bytes());
    }
    let mut written = true;
    let stdout = (close(Standard::Output, io::stdout()), "write error");
    // Where standard error takes no more, there is nowhere to tell.
    let stderr = (close(Standard::Error, io::stderr()), "error writing standard error");
    for (closed, what) in [stdout, stderr] {
        if let Err(error) = closed {
            let text = format!("{program}: {what}: {}\n", error.text());
            let _nowhere_to_tell = io::stderr().write_all(text.as_bytes());
            written = false;
        }
    }
    if written { code } else { unwritten }
}

fn close(which: Standard, file: impl AsFd) -> haul_sys::Result<()> {
    // An applet that had something to write to a closed one has failed already.
    if was_closed(which) { Ok(()) } else { close_error(file) }
}
