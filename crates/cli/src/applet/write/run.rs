//! `haul write`: the right end of a pipe, with many large writes in flight.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::Pace;
use haul_io::digest::Digest;
use haul_io::stream::{
    Block, Durable, Marks, Outcome, PIPE_BYTES, Pool, ReadPlan, Reader, Side, Source, StreamError,
    WatermarkQueue, WritePlan, Writer, Zeros, fill_while,
};
use haul_sys::data::{seek_tell, widen_pipe};
use haul_sys::fs::{Kind, duplicate, fstat};
use haul_sys::process::Standard;

use super::options::{Id, all_options, help};
use crate::escape::quote_if_needed;
use crate::getopt::Usage;
use crate::metrics::Figures;
use crate::option::data::{marks, size, size_or_zero};
use crate::option::stream::{self, Settings, StreamId, files};
use crate::output::Output;
use crate::progress::{End, OtherEnd, Progress, Tally};
use crate::standard::demand;
use crate::sum_file::line;
use crate::target_file::{TargetFile as File, open};

const PROGRAM: &str = "haul write";

/// Threads that copy from the page cache: requests in flight take more than one copies.
const COPIERS: usize = 2;

struct Wanted {
    settings: Settings,
    atomic: bool,
    buffer: Option<u64>,
    durable: Durable,
    size: Option<u64>,
    zeros: Zeros,
    marks: (usize, usize),
}

/// Runs `write` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let all = all_options();
    let mut wanted = Wanted {
        settings: Settings::new(),
        atomic: false,
        buffer: None,
        durable: Durable::No,
        size: None,
        zeros: Zeros::Write,
        marks: (50, 75),
    };
    match files(&output, arguments, &all, help, &mut wanted) {
        Ok(files) => write_all(&output, &wanted, &files),
        Err(code) => code,
    }
}

impl stream::Wanted for Wanted {
    type Id = Id;

    fn shared(id: Id) -> Option<StreamId> {
        if let Id::Stream(id) = id { Some(id) } else { None }
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn set(&mut self, id: Id, value: Option<&OsStr>) -> Result<(), Usage> {
        let word = value.unwrap_or_default();
        match id {
            Id::Stream(id) => self.settings.set(id, value)?,
            Id::Atomic => self.atomic = true,
            Id::Buffer => self.buffer = Some(size("--buffer", word)?),
            Id::Fsync => self.durable = Durable::Yes,
            Id::Size => self.size = Some(size_or_zero("--size", word)?),
            Id::Sparse => self.zeros = Zeros::Skip,
            Id::Watermarks => self.marks = marks(word)?,
        }
        Ok(())
    }
}

fn write_all(output: &Output, wanted: &Wanted, names: &[OsString]) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    // Before a file is emptied for what cannot come.
    if let Err(error) = demand(Standard::Input) {
        output.error(&format!("standard input: {}", error.text()));
        return not_begun(output);
    }
    let mut files = Vec::new();
    for name in names {
        match open(name, wanted.atomic) {
            Ok(file) => files.push(file),
            Err(text) => {
                output.error(&format!("{}: {text}", quote_if_needed(name.as_bytes())));
                files.into_iter().for_each(File::abandon);
                return not_begun(output);
            }
        }
    }
    let size = wanted.size.or_else(input_bytes);
    let plan =
        WritePlan { policy: wanted.settings.policy.clone(), size, zeros: wanted.zeros, stop };
    let targets = files.iter().map(File::target).collect();
    let writer = match Writer::new(targets, plan) {
        Ok(writer) => writer,
        Err(error) => {
            output.error(&error.text());
            return not_begun(output);
        }
    };
    let tally = Tally::new(size);
    let progress = Progress::new(wanted.settings.progress, false);
    let (ended, outcomes) = std::thread::scope(|scope| {
        let sender = OtherEnd::of(std::io::stdin(), End::Writer);
        let tally = &tally;
        progress.start_line(scope, move || {
            format!("write: {}", tally.line(("waiting for the files", &sender.awaited())))
        });
        let pump = Pump { wanted, tally, stop, digest: Mutex::new(None) };
        let answer = pump.run(writer);
        progress.end();
        answer
    });
    if wanted.settings.stats {
        output.raw_error(&tally.stats(("the writer of the pipe", "the files")));
    }
    report(output, wanted, files, (ended, tally.figures()), &outcomes)
}

/// Ends a run of which nothing was written.
fn not_begun(output: &Output) -> ExitCode {
    // The exit status says failure in any case.
    let _written = output.measured(Figures::not_begun);
    ExitCode::FAILURE
}

/// Returns how many bytes standard input still has, where it is a file.
fn input_bytes() -> Option<u64> {
    let stat = fstat(std::io::stdin()).ok().filter(|stat| stat.kind() == Kind::Regular)?;
    let left = stat.size.saturating_sub(seek_tell(std::io::stdin()).ok()?);
    // Files that are made up when they are read have no size.
    (left > 0).then_some(left)
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
    tally: &'a Tally,
    stop: &'static AtomicBool,
    digest: Mutex<Option<Digest>>,
}

impl Pump<'_> {
    fn run(&self, mut writer: Writer) -> (Ended, Vec<Outcome>) {
        widen_pipe(std::io::stdin(), PIPE_BYTES);
        let pace = self.wanted.settings.bytes_per_second.map(Pace::new);
        let block_bytes = writer.block_bytes();
        let block_bytes = pace.as_ref().map_or(block_bytes, |pace| pace.request_bytes(block_bytes));
        *self.digest() = self.wanted.settings.sum.map(haul_io::digest::Algorithm::start);
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
        let digest = self.digest().take();
        (Ended { error: pumped.err(), digest, bytes: self.tally.bytes() }, outcomes)
    }

    fn digest(&self) -> std::sync::MutexGuard<'_, Option<Digest>> {
        self.digest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a block, full but for the last.
    fn read(
        &self,
        pool: &Arc<Pool>,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Option<Block>, StreamError> {
        let Some(mut block) = pool.take(self.stop)? else { return Err(StreamError::Stopped) };
        let stdin = std::io::stdin();
        self.tally.waiting(Side::Source, || {
            fill_while(stdin.as_fd(), &mut block, self.stop, is_wanted)
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
        if let Some(digest) = &mut *self.digest() {
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

    /// Returns a reader of standard input if that is a file whose blocks can be written as they are.
    fn file(&self, writer: &Writer, block_bytes: usize) -> Option<Reader> {
        let stdin = duplicate(std::io::stdin()).ok()?;
        let mut policy = self.wanted.settings.policy.clone();
        policy.io_bytes = Some(block_bytes);
        let plan = ReadPlan {
            policy,
            held: writer.holds(block_bytes) + 2,
            copiers: COPIERS,
            stop: self.stop,
            ..ReadPlan::WHOLE
        };
        let reader = Reader::new(Source::Shared(Arc::new(stdin)), plan).ok()?;
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

fn report(
    output: &Output,
    wanted: &Wanted,
    files: Vec<File>,
    (ended, figures): (Ended, Figures),
    outcomes: &[Outcome],
) -> ExitCode {
    let mut is_complete = true;
    if let Some(error) = ended.error
        && error != StreamError::Stopped
    {
        output.error(&format!("standard input: {error}"));
        is_complete = false;
    }
    let stopped = haul_sys::process::stop_signal();
    let mut is_whole = ended.error.is_none() && stopped.is_none();
    // A failed output reports itself, and ends the input early.
    if is_whole
        && outcomes.iter().any(|outcome| outcome.error.is_none())
        && let Some(promised) = wanted.size.filter(|promised| *promised != ended.bytes)
    {
        output.error(&format!(
            "standard input: {} bytes came, but --size promises {promised}",
            ended.bytes
        ));
        is_whole = false;
        is_complete = false;
    }
    let to_stdout = !files.iter().any(File::is_stdout);
    let sum = ended
        .digest
        .zip(wanted.settings.sum)
        .map(|(digest, algorithm)| (algorithm, digest.finish_hex()));
    for (file, outcome) in files.into_iter().zip(outcomes) {
        let name = quote_if_needed(file.name().as_bytes());
        if let Some(error) = outcome.not_direct {
            output.error(&format!(
                "warning: {name}: direct writes are not possible: {}",
                error.text()
            ));
        }
        match outcome.error {
            None if is_whole => {
                let shown = file.name().to_owned();
                let warn = |text: &str| output.error(&format!("warning: {name}: {text}"));
                if let Err(text) = file.publish(wanted.durable, warn) {
                    output.error(&format!("{name}: {text}"));
                    is_complete = false;
                } else if let Some((algorithm, digits)) = &sum {
                    tell_sum(output, &line(algorithm, digits, shown.as_bytes()), to_stdout);
                }
            }
            None => file.abandon(),
            Some(error) => {
                file.abandon();
                if error != StreamError::Stopped {
                    output.error(&format!("error writing {name}: {error}"));
                }
                is_complete = false;
            }
        }
    }
    let failures = u64::from(!is_complete);
    let measured = output.measured(|| Figures { failures, stopped: stopped.is_some(), ..figures });
    let written = output.finish() && measured;
    if let Some(signal) = stopped {
        haul_sys::process::die_by(signal);
    }
    if is_complete && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell_sum(output: &Output, line: &[u8], to_stdout: bool) {
    if to_stdout {
        output.bytes(line);
    } else {
        output.raw_error_bytes(line);
    }
}
