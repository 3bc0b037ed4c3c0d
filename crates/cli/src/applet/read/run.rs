//! `haul read`: the left end of a pipe, with many large reads in flight.

use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal as _;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;

use haul_io::Pace;
use haul_io::digest::Digest;
use haul_io::stream::{
    Block, NEVER, PIPE_BYTES, PassError, Passing, PipePages, ReadPlan, Reader, Side, Source,
    StreamError, pass, write_all,
};
use haul_io::trail::TargetTrail;
use haul_io::{Cache, DataPolicy};
use haul_start::Standard;
use haul_sys::data::{seek_set, widen_pipe};
use haul_sys::fs::{CWD, Follow, Kind, OpenHow, duplicate, fstat, openat};

use super::direct_splice::Look;
use super::options::{Wanted, all_options, help};
use crate::escape::quote_if_needed;
use crate::metrics::Figures;
use crate::option::stream::{files, must_be_direct};
use crate::output::Output;
use crate::progress::{End, OtherEnd, Progress, Tally};
use crate::standard::{demand, refuse_own_output};

const PROGRAM: &str = "haul read";

/// Runs `read` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let all = all_options();
    let mut wanted = Wanted::new();
    match files(&output, arguments, &all, help, &mut wanted) {
        Ok(files) => read_all(&output, &wanted, &files),
        Err(code) => code,
    }
}

/// Why a file was not written completely.
enum Failed {
    Input(String),
    Output(String),
}

impl From<PassError> for Failed {
    fn from(error: PassError) -> Failed {
        match error.side {
            Side::Source => Failed::Input(error.error.to_string()),
            Side::Target => Failed::Output(error.error.to_string()),
        }
    }
}

fn read_all(output: &Output, wanted: &Wanted, files: &[OsString]) -> ExitCode {
    if let Err(error) = demand(Standard::Output) {
        output.error(&format!("standard output: {}", error.text()));
        let _written = output.measured(Figures::not_begun);
        return ExitCode::FAILURE;
    }
    let stdout = std::io::stdout();
    if stdout.is_terminal() {
        output.error("standard output is a terminal: give a pipe or a file; 'haul cat' shows text");
        let _written = output.measured(Figures::not_begun);
        return ExitCode::FAILURE;
    }
    widen_pipe(&stdout, PIPE_BYTES);
    let tally = Tally::new(None);
    let progress = Progress::new(wanted.settings.progress, false);
    let pace = wanted.settings.bytes_per_second.map(Pace::new);
    let failures = std::thread::scope(|scope| {
        let reader = OtherEnd::of(std::io::stdout(), End::Reader);
        let tally = &tally;
        progress.start_line(scope, move || {
            format!("read: {}", tally.line((&reader.awaited(), "waiting for the files")))
        });
        let mut failures = 0;
        for file in files {
            let stream = Stream { output, wanted, tally, pace: pace.as_ref() };
            match stream.one(file) {
                Ok(()) => {}
                Err(Failed::Input(text)) => {
                    let name = quote_if_needed(file.as_bytes());
                    progress.aside(|| output.error(&format!("{name}: {text}")));
                    failures += 1;
                }
                Err(Failed::Output(text)) => {
                    progress.aside(|| output.error(&format!("write error: {text}")));
                    failures += 1;
                    break;
                }
            }
        }
        progress.end();
        failures
    });
    if wanted.settings.stats {
        output.raw_error(&tally.stats(("the files", "the reader of the pipe")));
    }
    let measured = output.measured(|| Figures { failures, ..tally.figures() });
    if failures == 0 && measured { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Stream<'a> {
    output: &'a Output,
    wanted: &'a Wanted,
    tally: &'a Tally,
    pace: Option<&'a Pace>,
}

impl Stream<'_> {
    fn one(&self, file: &OsStr) -> Result<(), Failed> {
        let input = |error: haul_sys::CallError| Failed::Input(error.text());
        let is_stdin = file == "-";
        let source = if is_stdin {
            Source::Shared(Arc::new(duplicate(std::io::stdin()).map_err(input)?))
        } else {
            // The kernel hands no argument with a NUL to a program.
            let name = CString::new(file.as_bytes()).unwrap_or_default();
            let how = OpenHow::READ.following(Follow::Yes).waiting();
            Source::Own(Arc::new(openat(CWD, &name, how).map_err(input)?))
        };
        let (Source::Own(fd) | Source::Shared(fd)) = &source;
        refuse_own_output(fd.as_fd()).map_err(Failed::Input)?;
        let mut skip = self.wanted.offset;
        if let Source::Shared(stdin) = &source
            && skip > 0
            && let Ok(at) = haul_sys::data::seek_tell(&**stdin)
        {
            seek_set(&**stdin, at.saturating_add(skip)).map_err(input)?;
            skip = 0;
        }
        let reader = Reader::new(source.clone(), self.plan(&source, skip)).map_err(input)?;
        if let Some(bytes) = reader.reported_bytes() {
            self.tally.expect(bytes);
        }
        if let Some(error) = reader.not_direct()
            && must_be_direct(&self.wanted.settings.policy)
        {
            let name = quote_if_needed(file.as_bytes());
            self.output.error(&format!(
                "warning: {name}: direct reads are not possible: {}",
                error.text()
            ));
        }
        if self.may_pass(&source, &reader) {
            return self.pass(&source, &reader);
        }
        let skip = if reader.reported_bytes().is_none() { skip } else { 0 };
        self.pump(reader, skip, file)
    }

    fn plan(&self, source: &Source, skip: u64) -> ReadPlan {
        let mut policy = self.wanted.settings.policy.clone();
        if let Some(pace) = self.pace {
            policy.io_bytes = Some(pace.request_bytes(policy.io_bytes.unwrap_or(PIPE_BYTES)));
        }
        let length = self.wanted.length;
        match source {
            Source::Own(_) => {
                ReadPlan { policy, offset: self.wanted.offset, length, ..ReadPlan::whole() }
            }
            // What cannot be sought in is read and thrown away.
            Source::Shared(_) => {
                let length = length.map(|length| length.saturating_add(skip));
                ReadPlan { policy, length, ..ReadPlan::whole() }
            }
        }
    }

    /// Returns whether the bytes have to pass through this process: for a digest, a rate or progress.
    fn is_blind(&self) -> bool {
        let is_pipe = fstat(std::io::stdout()).is_ok_and(|stat| stat.kind() == Kind::Fifo);
        is_pipe && self.wanted.settings.sum.is_none() && self.pace.is_none()
    }

    /// Returns whether the bytes can stay in the kernel.
    fn may_pass(&self, source: &Source, reader: &Reader) -> bool {
        let is_own = matches!(source, Source::Own(_)) && reader.reported_bytes().is_some();
        is_own && reader.is_plain() && self.is_blind()
    }

    /// Returns whether the bytes may be spliced without a copy where that is faster. Options about
    /// requests (size, depth) exclude it.
    fn may_pour(&self) -> bool {
        let policy = &self.wanted.settings.policy;
        self.is_blind() && policy.io_bytes.is_none() && policy.queue_depth.is_none()
    }

    fn pass(&self, source: &Source, reader: &Reader) -> Result<(), Failed> {
        let (Source::Own(file) | Source::Shared(file)) = source;
        seek_set(&**file, self.wanted.offset).map_err(|error| Failed::Input(error.text()))?;
        // The reader has entered the file in the run's ledger, and the other side is a pipe.
        let policy = DataPolicy { cache: Cache::Keep, ..DataPolicy::PLAIN };
        let mut passing = Passing {
            policy: &policy,
            pages: PipePages::Shared,
            stop: &NEVER,
            most: self.wanted.length,
            moved: &mut |bytes| self.tally.moved(bytes),
        };
        let stdout = std::io::stdout();
        let passed =
            self.tally.waiting(Side::Target, || pass(file.as_fd(), stdout.as_fd(), &mut passing));
        if reader.is_short(self.wanted.offset.saturating_add(passed?)) {
            return Err(Failed::Input(StreamError::Shrank.to_string()));
        }
        Ok(())
    }

    fn pump(&self, mut reader: Reader, skip: u64, file: &OsStr) -> Result<(), Failed> {
        let stdout = std::io::stdout();
        let mut seen = Seen {
            skip,
            digest: self.wanted.settings.sum.map(haul_io::digest::Algorithm::start),
            trail: TargetTrail::new(stdout.as_fd(), &self.wanted.settings.policy),
        };
        let mut look = Some(Look::new(self.tally)).filter(|_| self.may_pour());
        while let Some(block) = self.arrival(|| reader.next())? {
            self.deliver(&block, &mut seen)?;
            let is_slow = |look: &mut Look<'_>| look.shows_a_slow_reader(block.len() as u64);
            if reader.can_pour()
                && let Some(mut look) = look.take_if(is_slow)
            {
                while let Some(block) = self.arrival(|| reader.next_on_its_way())? {
                    self.deliver(&block, &mut seen)?;
                }
                // What ends it would again, so it is done once.
                reader.direct_splice(stdout.as_fd(), &mut look)?;
            }
        }
        seen.trail.finish(stdout.as_fd()).map_err(|error| Failed::Output(error.text()))?;
        if let (Some(digest), Some(algorithm)) = (seen.digest, self.wanted.settings.sum) {
            let line = crate::sum_file::line(algorithm, &digest.finish_hex(), file.as_bytes());
            self.output.raw_error_bytes(&line);
        }
        Ok(())
    }

    fn arrival(
        &self,
        next: impl FnOnce() -> Result<Option<Block>, StreamError>,
    ) -> Result<Option<Block>, Failed> {
        let next = self.tally.waiting(Side::Source, next);
        next.map_err(|error| Failed::Input(error.to_string()))
    }

    fn deliver(&self, block: &Block, seen: &mut Seen) -> Result<(), Failed> {
        let left_out = usize::try_from(seen.skip).unwrap_or(usize::MAX).min(block.len());
        seen.skip -= left_out as u64;
        let bytes = &block[left_out..];
        if let Some(digest) = &mut seen.digest {
            digest.update(bytes);
        }
        self.tally
            .waiting(Side::Target, || write_all(std::io::stdout().as_fd(), bytes, &NEVER))
            .map_err(|error| Failed::Output(error.to_string()))?;
        seen.trail
            .after_write_here(std::io::stdout().as_fd(), bytes.len() as u64)
            .map_err(|error| Failed::Output(error.text()))?;
        self.tally.moved(bytes.len() as u64);
        if let Some(pace) = self.pace {
            pace.pay(bytes.len() as u64, &NEVER);
        }
        Ok(())
    }
}

/// What becomes of the bytes on their way.
struct Seen {
    /// Bytes that are not wanted.
    skip: u64,
    digest: Option<Digest>,
    /// The pages of standard output, if that is a file.
    trail: TargetTrail,
}
