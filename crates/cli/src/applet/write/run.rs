//! `haul write`: the right end of a pipe, or of a command, with many large writes in flight.

use haul_sys::sync::Mutex;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_io::Pace;
use haul_io::digest::Digest;
use haul_io::stream::{
    Block, Marks, Outcome, PIPE_BYTES, Pool, ReadPlan, Reader, Side, Source, StreamError,
    WatermarkQueue, WritePlan, Writer, fill_while,
};
use haul_sys::data::widen_pipe;
use haul_sys::fs::duplicate;

use super::command::Failed;
use super::input::Input;
use super::options::{Empty, Wanted, all_options, help};
use crate::escape::quote_if_needed;
use crate::metrics::Figures;
use crate::option::stream::files;
use crate::output::Output;
use crate::progress::{End, OtherEnd, Progress, Tally};
use crate::sum_file::line;
use crate::target_file::{TargetFile as File, open};

const PROGRAM: &str = "haul write";

/// Threads that copy from the page cache: requests in flight take more than one copies.
const COPIERS: usize = 2;

/// Runs `write` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let all = all_options();
    let mut wanted = Wanted::new();
    match files(&output, arguments, &all, help, &mut wanted) {
        Ok(files) => write_all(&output, &wanted, &files),
        Err(code) => code,
    }
}

fn write_all(output: &Output, wanted: &Wanted, names: &[OsString]) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    let (files, input) = match open_all(output, wanted, names) {
        Ok(opened) => opened,
        Err(code) => return not_begun(output, code),
    };
    let size = wanted.size.or_else(|| input.bytes());
    let plan =
        WritePlan { policy: wanted.settings.policy.clone(), size, zeros: wanted.zeros, stop };
    let targets = files.iter().map(File::target).collect();
    let writer = match Writer::new(targets, plan) {
        Ok(writer) => writer,
        Err(error) => {
            output.error(&error.text());
            files.into_iter().for_each(File::abandon);
            // The message is about the files.
            let _not_read = input.end();
            return not_begun(output, 1);
        }
    };
    let tally = Tally::new(size);
    let progress = Progress::new(wanted.settings.progress, false);
    let (ended, outcomes) = std::thread::scope(|scope| {
        let sender = OtherEnd::of(input.fd(), End::Writer);
        let tally = &tally;
        progress.start_line(scope, move || {
            format!("write: {}", tally.line(("waiting for the files", &sender.awaited())))
        });
        let pump = Pump { wanted, input: &input, tally, stop, digest: Mutex::new(None) };
        let answer = pump.run(writer);
        progress.end();
        answer
    });
    if wanted.settings.stats {
        output.raw_error(&tally.stats(("the writer of the pipe", "the files")));
    }
    let run = Report { output, wanted, figures: tally.figures() };
    run.end(input, files, ended, &outcomes)
}

/// Opens all files and the input, and empties the files that are written in their place: only then is
/// nothing lost if one of them cannot be opened, or the command not started. Returns the exit status after
/// a message.
fn open_all(
    output: &Output,
    wanted: &Wanted,
    names: &[OsString],
) -> Result<(Vec<File>, Input), u8> {
    let mut files = Vec::new();
    let failed = |files: Vec<File>, text: &str, code| {
        output.error(text);
        files.into_iter().for_each(File::abandon);
        Err(code)
    };
    let of = |name: &OsStr, text: &str| format!("{}: {text}", quote_if_needed(name.as_bytes()));
    for name in names {
        match open(name, wanted.atomic) {
            Ok(file) => files.push(file),
            Err(text) => return failed(files, &of(name, &text), 1),
        }
    }
    let input = match Input::open(wanted.from.as_ref()) {
        Ok(input) => input,
        Err(Failed { text, code }) => return failed(files, &text, code),
    };
    let emptied =
        files.iter().try_for_each(|file| file.empty().map_err(|text| of(file.name(), &text)));
    match emptied {
        Ok(()) => Ok((files, input)),
        Err(text) => {
            // The message is about the file.
            let _not_read = input.end();
            failed(files, &text, 1)
        }
    }
}

/// Ends a run of which nothing was written.
fn not_begun(output: &Output, code: u8) -> ExitCode {
    // The exit status says failure in any case.
    let _written = output.measured(Figures::not_begun);
    ExitCode::from(code)
}

/// How the input ended.
struct Ended {
    error: Option<StreamError>,
    digest: Option<Digest>,
    /// Bytes that came.
    bytes: u64,
}

struct Pump<'a> {
    wanted: &'a Wanted,
    input: &'a Input,
    tally: &'a Tally,
    stop: &'static AtomicBool,
    digest: Mutex<Option<Digest>>,
}

impl Pump<'_> {
    fn run(&self, mut writer: Writer) -> (Ended, Vec<Outcome>) {
        widen_pipe(self.input.fd(), PIPE_BYTES);
        let pace = self.wanted.settings.bytes_per_second.map(Pace::new);
        let block_bytes = writer.block_bytes();
        let block_bytes = pace.as_ref().map_or(block_bytes, |pace| pace.request_bytes(block_bytes));
        *self.digest.lock() = self.wanted.settings.sum.map(haul_io::digest::Algorithm::start);
        let in_buffer = self
            .wanted
            .buffer
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX).div_ceil(block_bytes).max(2));
        let pool = Pool::new(block_bytes, writer.holds(block_bytes) + 2 + in_buffer.unwrap_or(0));
        let pumped = match in_buffer {
            None => self.straight(&mut writer, &pool, pace.as_ref()),
            Some(blocks) => self.through(&mut writer, &pool, pace.as_ref(), blocks),
        };
        let outcomes = writer.finish(self.wanted.durable);
        let digest = self.digest.lock().take();
        (Ended { error: pumped.err(), digest, bytes: self.tally.bytes() }, outcomes)
    }

    /// Reads a block, full but for the last.
    fn read(
        &self,
        pool: &Arc<Pool>,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Option<Block>, StreamError> {
        let Some(mut block) = pool.take(self.stop)? else { return Err(StreamError::Stopped) };
        self.tally.waiting(Side::Source, || {
            fill_while(self.input.fd(), &mut block, self.stop, is_wanted)
        })?;
        Ok((!block.is_empty()).then_some(block))
    }

    fn put(
        &self,
        writer: &mut Writer,
        block: Block,
        pace: Option<&Pace>,
    ) -> Result<bool, StreamError> {
        let bytes = block.len() as u64;
        if let Some(digest) = &mut *self.digest.lock() {
            digest.update(&block);
        }
        self.tally.waiting(Side::Target, || writer.put(block))?;
        self.tally.moved(bytes);
        if let Some(pace) = pace {
            pace.pay(bytes, self.stop);
        }
        Ok(writer.is_alive())
    }

    fn straight(
        &self,
        writer: &mut Writer,
        pool: &Arc<Pool>,
        pace: Option<&Pace>,
    ) -> Result<(), StreamError> {
        let mut file = self.file(writer, pool.block_bytes());
        loop {
            let next = match &mut file {
                Some(reader) => self.tally.waiting(Side::Source, || reader.next())?,
                None => self.read(pool, || true)?,
            };
            let Some(block) = next else { return Ok(()) };
            if !self.put(writer, block, pace)? {
                return Ok(());
            }
        }
    }

    /// Returns a reader of the input if that is a file whose blocks can be written as they are.
    fn file(&self, writer: &Writer, block_bytes: usize) -> Option<Reader> {
        let input = duplicate(self.input.fd()).ok()?;
        let mut policy = self.wanted.settings.policy.clone();
        policy.io_bytes = Some(block_bytes);
        let plan = ReadPlan {
            policy,
            held: writer.holds(block_bytes) + 2,
            copiers: COPIERS,
            stop: self.stop,
            ..ReadPlan::whole()
        };
        let reader = Reader::new(Source::Shared(Arc::new(input)), plan).ok()?;
        let is_even = reader.position().is_multiple_of(block_bytes as u64);
        (is_even && reader.reported_bytes().is_some()).then_some(reader)
    }

    /// With a buffer in between, which a thread of its own fills.
    fn through(
        &self,
        writer: &mut Writer,
        pool: &Arc<Pool>,
        pace: Option<&Pace>,
        blocks: usize,
    ) -> Result<(), StreamError> {
        let (low, high) = self.wanted.marks;
        let watermark_queue = WatermarkQueue::new(Marks {
            low: blocks.saturating_mul(low) / 100,
            high: blocks.saturating_mul(high) / 100,
            full: blocks,
        });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let ended = loop {
                    match self.read(pool, || !watermark_queue.has_ended()) {
                        Ok(Some(block)) => {
                            if !watermark_queue.put(block, self.stop) {
                                break Ok(());
                            }
                        }
                        Ok(None) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                };
                watermark_queue.end(ended);
            });
            let answer = loop {
                match watermark_queue.take(self.stop) {
                    Ok(Some(block)) => match self.put(writer, block, pace) {
                        Ok(true) => {}
                        Ok(false) => break Ok(()),
                        Err(error) => break Err(error),
                    },
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            watermark_queue.end(answer);
            answer
        })
    }
}

/// The end of a run: what becomes of the files, and what is said about it.
struct Report<'a> {
    output: &'a Output,
    wanted: &'a Wanted,
    figures: Figures,
}

impl Report<'_> {
    fn end(self, input: Input, files: Vec<File>, ended: Ended, outcomes: &[Outcome]) -> ExitCode {
        let is_written = self.tell_writes(&files, outcomes);
        let source = self.judge_source(input, &ended, outcomes);
        let stopped = haul_sys::process::stop_signal();
        let is_whole = source.is_none() && ended.error.is_none() && stopped.is_none();
        let sum = ended.digest.zip(self.wanted.settings.sum);
        let sum = sum.map(|(digest, algorithm)| (algorithm, digest.finish_hex()));
        let to_stdout = !files.iter().any(File::is_stdout);
        let mut is_published = true;
        for (file, outcome) in files.into_iter().zip(outcomes) {
            if !is_whole || outcome.error.is_some() {
                file.abandon();
                continue;
            }
            let shown = file.name().to_owned();
            let name = quote_if_needed(shown.as_bytes());
            let warn = |text: &str| self.output.error(&format!("warning: {name}: {text}"));
            if let Err(text) = file.publish(self.wanted.durable, warn) {
                self.output.error(&format!("{name}: {text}"));
                is_published = false;
            } else if let Some((algorithm, digits)) = &sum {
                tell_sum(self.output, &line(algorithm, digits, shown.as_bytes()), to_stdout);
            }
        }
        let is_complete = is_written && source.is_none() && is_published;
        let failures = u64::from(!is_complete);
        let Report { output, figures, .. } = self;
        let measured =
            output.measured(|| Figures { failures, stopped: stopped.is_some(), ..figures });
        let is_told = output.finish() && measured;
        if let Some(signal) = stopped {
            haul_sys::process::die_by(signal);
        }
        match source {
            Some(code) => ExitCode::from(code),
            None if is_complete && is_told => ExitCode::SUCCESS,
            None => ExitCode::FAILURE,
        }
    }

    /// Prints what writing to each file met. Returns whether each file got the bytes that came.
    fn tell_writes(&self, files: &[File], outcomes: &[Outcome]) -> bool {
        let mut is_written = true;
        for (file, outcome) in files.iter().zip(outcomes) {
            let name = quote_if_needed(file.name().as_bytes());
            if let Some(error) = outcome.not_direct {
                self.output.error(&format!(
                    "warning: {name}: direct writes are not possible: {}",
                    error.text()
                ));
            }
            if let Some(error) = outcome.error {
                if error != StreamError::Stopped {
                    self.output.error(&format!("error writing {name}: {error}"));
                }
                is_written = false;
            }
        }
        is_written
    }

    /// Closes the input, and returns the exit status, after a message, if what came is not the whole data.
    fn judge_source(&self, input: Input, ended: &Ended, outcomes: &[Outcome]) -> Option<u8> {
        let shown = input.shown().to_owned();
        if let Some(error) = ended.error
            && error != StreamError::Stopped
        {
            self.output.error(&format!("{shown}: {error}"));
        }
        let judged = input.end();
        if haul_sys::process::stop_signal().is_some() {
            return Some(1);
        }
        if ended.error.is_some() {
            return Some(1);
        }
        if outcomes.iter().all(|outcome| outcome.error.is_some()) {
            // The input was not read to its end, and a failed output reports itself.
            return None;
        }
        let refused = |what: &str, code| {
            let then = if self.wanted.atomic { "; each FILE stays as it was" } else { "" };
            self.output.error(&format!("{what}{then}"));
            Some(code)
        };
        if let Err(Failed { text, code }) = judged {
            return refused(&text, code);
        }
        let bytes = ended.bytes;
        if let Some(promised) = self.wanted.size.filter(|promised| *promised != bytes) {
            let what = format!("{shown}: {bytes} bytes came, but --size promises {promised}");
            return refused(&what, 1);
        }
        let may_be_empty = self.wanted.empty == Empty::Write || self.wanted.size == Some(0);
        if bytes == 0 && self.wanted.atomic && !may_be_empty {
            return refused(&format!("{shown}: nothing came, and --allow-empty is not given"), 1);
        }
        None
    }
}

fn tell_sum(output: &Output, line: &[u8], to_stdout: bool) {
    if to_stdout {
        output.bytes(line);
    } else {
        output.raw_error_bytes(line);
    }
}
