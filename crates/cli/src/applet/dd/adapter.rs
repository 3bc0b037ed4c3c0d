//! The messages of `dd` while it copies, in GNU's words, and the signals that it handles.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use haul_io::record::{Counts, End, Flow, Monitor, RecordError};
use haul_sys::{Errno, errno_text};

use super::operands::{Request, Status};
use super::report::{Teller, Units, human};
use crate::escape::{quote, quote_if_needed};

/// The flags that signals set.
pub(super) struct Signals {
    pub(super) asked: &'static AtomicU32,
    pub(super) interrupted: &'static AtomicBool,
}

/// Speaks for a run of `dd`.
pub(super) struct Adapter {
    pub(super) teller: Teller,
    signals: Signals,
    answered: u32,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// What both ends are called: which it is, and its name.
pub(super) fn names(request: &Request) -> [(&'static str, Vec<u8>); 2] {
    use std::os::unix::ffi::OsStrExt as _;
    [("input", &request.input), ("output", &request.output)].map(|(which, name)| {
        let name = match name {
            Some(name) => name.as_bytes().to_vec(),
            None => format!("standard {which}").into_bytes(),
        };
        (which, name)
    })
}

impl Adapter {
    pub(super) fn new(request: &Request, teller: Teller, signals: Signals) -> Adapter {
        let [(_, input), (_, output)] = names(request);
        Adapter { teller, signals, answered: 0, input, output }
    }

    /// Returns whether a message could not be written.
    pub(super) fn is_mute(&self) -> bool {
        self.teller.is_mute
    }

    fn words(&self, error: RecordError) -> (String, Option<Errno>) {
        let (input, output) = (|| quote(&self.input), || quote(&self.output));
        let plain_input = || quote_if_needed(&self.input);
        let plain_output = || quote_if_needed(&self.output);
        match error {
            RecordError::Memory { end, bytes } => {
                let which = if end == End::Input { "input" } else { "output" };
                let shown = human(u128::from(bytes), 1, Units::Iec);
                (
                    format!("memory exhausted by {which} buffer of size {bytes} bytes ({shown})"),
                    None,
                )
            }
            RecordError::Skip(errno) => (format!("{}: cannot skip", plain_input()), Some(errno)),
            RecordError::SkipShort => {
                (format!("{}: cannot skip to specified offset", plain_input()), None)
            }
            RecordError::Seek(errno) | RecordError::Move(End::Output, errno) => {
                (format!("{}: cannot seek", plain_output()), Some(errno))
            }
            RecordError::Read(errno) | RecordError::Bad(errno) => {
                (format!("error reading {}", input()), Some(errno))
            }
            RecordError::Offset => {
                (format!("offset overflow while reading file {}", input()), None)
            }
            RecordError::Pass(errno) | RecordError::Move(End::Input, errno) => {
                (format!("{}: cannot seek", plain_input()), Some(errno))
            }
            RecordError::Partial { bytes } => {
                let noun = if bytes == 1 { "byte" } else { "bytes" };
                let text =
                    format!("warning: partial read ({bytes} {noun}); suggest iflag=fullblock");
                (text, None)
            }
            RecordError::Write(errno) => (format!("error writing {}", output()), errno),
            RecordError::WriteBlock(errno) => (format!("writing to {}", output()), errno),
            RecordError::LeaveDirect(errno) => {
                (format!("failed to turn off O_DIRECT: {}", plain_output()), Some(errno))
            }
            RecordError::Extend { bytes, errno } => {
                let output = output();
                (
                    format!("failed to truncate to {bytes} bytes in output file {output}"),
                    Some(errno),
                )
            }
            RecordError::DataSync(errno) => {
                (format!("fdatasync failed for {}", output()), Some(errno))
            }
            RecordError::Sync(errno) => (format!("fsync failed for {}", output()), Some(errno)),
            RecordError::Forget(end, errno) => {
                let name = if end == End::Input { plain_input() } else { plain_output() };
                (format!("failed to discard cache for: {name}"), Some(errno))
            }
        }
    }
}

impl Monitor for Adapter {
    fn problem(&mut self, problem: RecordError) {
        let is_note = matches!(
            problem,
            RecordError::SkipShort
                | RecordError::Bad(_)
                | RecordError::Partial { .. }
                | RecordError::LeaveDirect(_)
        );
        if is_note && self.teller.status() == Status::None {
            return;
        }
        match self.words(problem) {
            (text, Some(errno)) => self.teller.say(&format!("{text}: {}", errno_text(errno))),
            (text, None) => self.teller.say(&text),
        }
    }

    fn heed(&mut self, counts: &Counts) -> Flow {
        let asked = self.signals.asked.load(Ordering::Relaxed);
        while self.answered != asked {
            self.answered = self.answered.wrapping_add(1);
            self.teller.report(counts);
        }
        if self.signals.interrupted.load(Ordering::Relaxed) { Flow::End } else { Flow::Go }
    }

    fn report(&mut self, counts: &Counts) {
        self.teller.report(counts);
    }

    fn progress(&mut self, counts: &Counts) {
        self.teller.progress(counts);
    }

    fn before_sync(&mut self, counts: &Counts) {
        self.teller.progress_before_sync(counts);
    }
}
