//! Runs an operation of the engine, with its progress, its reports and its exit code.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haul_engine::error::Operation;
use haul_engine::monitor::{Control, Counts, Monitor};
use haul_engine::relocate;
use haul_engine::remove::{self, Mode};
use haul_engine::request::{Dereference, Recursion, Request};
use haul_sys::sync::Mutex;

use super::console::Console;
use super::fact::{End, Summary};
use super::how::How;
use super::{format, text};
use crate::among::Part;
use crate::metrics::{Figures, Waits};
use crate::output::Output;
use crate::progress::{Progress, WaitsFor, of_copy};
use crate::sizes::{grouped, per_second};
use crate::value::When;
use crate::waiting::{Lately, Operands, Said, Sampler};

/// Runs any form of copying, prints what happens, and returns how it ended.
pub(crate) fn run_to_end(
    output: &Output,
    how: &How,
    request: &Request,
    copy: impl FnOnce(&dyn Monitor, &Control<'_>) -> Counts,
) -> Ended {
    let never_refused =
        |part: Part<'_, Request>| Ok::<_, Infallible>(copy(part.monitor, part.control));
    match end_copy(output, how, request, never_refused) {
        Ok(ended) => ended,
        Err(impossible) => match impossible {},
    }
}

/// Does the same for a copy in which other processes may take part, or that may be refused, and returns the exit code.
pub(crate) fn lead_copy<E>(
    output: &Output,
    how: &How,
    request: &Request,
    copy: impl FnOnce(Part<'_, Request>) -> Result<Counts, E>,
) -> Result<ExitCode, E> {
    end_copy(output, how, request, copy).map(Ended::code)
}

/// Runs a copy and prints what happens.
fn end_copy<E>(
    output: &Output,
    how: &How,
    request: &Request,
    copy: impl FnOnce(Part<'_, Request>) -> Result<Counts, E>,
) -> Result<Ended, E> {
    let control = &Control::new(haul_sys::process::hear_stop());
    let sampler = Sampler::new(Operands::of_copy(request));
    let progress = progress(output, how).watching(&sampler);
    let started = Instant::now();
    let counts = std::thread::scope(|scope| {
        if tells_waits(output, how) {
            sampler.start(scope);
        }
        progress.start(scope, control, request, of_copy(request), || 0);
        let monitor = &Console::new(output, how, &progress, Operation::Copy, Mode::Remove);
        let print = &|stream, text: &[u8]| progress.aside(|| output.print(stream, text));
        let counts = copy(Part { request, monitor, control, print });
        progress.end();
        counts
    })?;
    let counts = &Counts { ledger: request.policy.data.ledger.summary(), ..counts };
    let summary = match request.policy.synchronize {
        Some(_) => Summary::Sync(counts),
        None => Summary::Copy(counts),
    };
    Ok(conclude(output, how, (summary, control.stop, &sampler), started))
}

/// Takes part in a run that another process leads and concludes. Returns when that is over, also after
/// a signal: a process that died would take the others with it, and the leader has the exit status.
pub(crate) fn take_part<R, E>(
    output: &Output,
    how: &How,
    (operation, mode): (Operation, Mode),
    request: &R,
    run: impl FnOnce(Part<'_, R>) -> Result<Counts, E>,
) -> Result<ExitCode, E> {
    let control = &Control::new(haul_sys::process::hear_stop_of_job());
    let progress = Progress::new(When::Never, how.verbose);
    let monitor = &Console::new(output, how, &progress, operation, mode);
    let print = &|stream, text: &[u8]| output.print(stream, text);
    run(Part { request, monitor, control, print })?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a move, prints what happens, and returns the exit code; or ends the process by the signal
/// that stopped the move.
pub(crate) fn run_move(output: &Output, how: &How, request: &relocate::Request) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    let control = relocate::Control::new(stop);
    let sampler = Sampler::new(Operands::of_move(request));
    let progress = progress(output, how).watching(&sampler);
    let counted = counted(request);
    let started = Instant::now();
    let counts = std::thread::scope(|scope| {
        if tells_waits(output, how) {
            sampler.start(scope);
        }
        let renamed = || {
            let counts = control.counts();
            counts.renamed + counts.exchanged
        };
        progress.start(scope, control.copying(), &counted, WaitsFor::Storage, renamed);
        let console = Console::new(output, how, &progress, Operation::Move, Mode::Remove);
        let counts = relocate::relocate(request, &console, &control);
        progress.end();
        counts
    });
    let copied = Counts { ledger: request.policy.data.ledger.summary(), ..counts.copied };
    let counts = relocate::Counts { copied, ..counts };
    conclude(output, how, (Summary::Move(&counts), stop, &sampler), started).code()
}

/// Runs a removal, prints what happens, and returns the exit code; or ends the process by the signal
/// that stopped the removal.
pub(crate) fn run_removal(output: &Output, how: &How, request: &remove::Request) -> ExitCode {
    let never_refused = |part: Part<'_, remove::Request>| {
        Ok::<_, Infallible>(remove::remove(part.request, part.monitor, part.control))
    };
    match lead_removal(output, how, request, never_refused) {
        Ok(code) => code,
        Err(impossible) => match impossible {},
    }
}

/// Does the same for a removal in which other processes take part, or that may be refused.
pub(crate) fn lead_removal<E>(
    output: &Output,
    how: &How,
    request: &remove::Request,
    remove: impl FnOnce(Part<'_, remove::Request>) -> Result<Counts, E>,
) -> Result<ExitCode, E> {
    let control = &Control::new(haul_sys::process::hear_stop());
    let sampler = Sampler::new(Operands::of_removal(request));
    let progress = Progress::new(how.progress, how.verbose).watching(&sampler);
    let mode = request.policy.mode;
    let started = Instant::now();
    let lately = Mutex::new(Lately::new());
    let counts = std::thread::scope(|scope| {
        if tells_waits(output, how) {
            sampler.start(scope);
        }
        progress.start_line(scope, || {
            removed_line(&control.counts(), started.elapsed(), lately.lock().said(&sampler))
        });
        let monitor = &Console::new(output, how, &progress, Operation::Remove, mode);
        let print = &|stream, text: &[u8]| progress.aside(|| output.print(stream, text));
        let counts = remove(Part { request, monitor, control, print });
        progress.end();
        counts
    })?;
    let summary = Summary::Remove(&counts, mode);
    Ok(conclude(output, how, (summary, control.stop, &sampler), started).code())
}

/// Returns the progress bar of a copy or a move, which also prints JSON lines if they are wanted.
fn progress<'a>(output: &'a Output, how: &How) -> Progress<'a> {
    let progress = Progress::new(how.progress, how.verbose);
    if format::reporter(how.format).is_complete() {
        progress.telling(output, how.progress)
    } else {
        progress
    }
}

/// Returns whether the end of the run tells what it waited for. Progress tells it only if the run is long.
fn tells_waits(output: &Output, how: &How) -> bool {
    how.stats || output.is_measured() || format::reporter(how.format).is_complete()
}

/// How a run ended, for its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) failures: u64,
    /// Entries that a limit on removals has kept.
    pub(crate) not_deleted: u64,
    /// The signal that stopped the run.
    pub(crate) signal: Option<i32>,
    /// Whether standard output, and the files that were asked for, took everything.
    pub(crate) is_written: bool,
}

impl Ended {
    /// Returns the exit code of GNU's programs; or ends the process by the signal that stopped the run.
    pub(crate) fn code(self) -> ExitCode {
        if let Some(signal) = self.signal {
            haul_sys::process::die_by(signal);
        }
        if self.failures > 0 || !self.is_written { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Prints the summary and returns how the run ended.
fn conclude(
    output: &Output,
    how: &How,
    (summary, stop, sampler): (Summary<'_>, &AtomicBool, &Sampler),
    started: Instant,
) -> Ended {
    let time = started.elapsed();
    let signal = haul_sys::process::stop_signal();
    let stopped = signal.is_some();
    let waiting = &sampler.seen();
    let end = End { summary, time, stopped, waiting };
    if let Some(line) = format::reporter(how.format).summary(&end) {
        output.line(&line);
    }
    if how.stats {
        output.raw_error(&text::stats(&end));
    } else if stopped && let Summary::Copy(counts) | Summary::Sync(counts) = summary {
        output.error(&text::stopped(counts));
    }
    let measured = output.measured(|| Figures {
        stopped,
        time,
        waits: waiting.has_waits().then_some(Waits {
            source: waiting.source,
            target: waiting.target,
            both: Some(waiting.both),
        }),
        devices: waiting.devices.clone(),
        ..match summary {
            Summary::Copy(counts) => Figures::of_copy(counts),
            Summary::Sync(counts) => Figures::of_sync(counts),
            Summary::Move(counts) => Figures::of_move(counts),
            Summary::Remove(counts, _) => Figures::of_removal(counts),
        }
    });
    // The processes of a job may have been stopped without a signal to this one.
    if !stopped && !stop.load(Ordering::Relaxed) {
        output.complete_list(how.lists_all);
    }
    let is_written = output.finish() && measured;
    let not_deleted = match summary {
        Summary::Sync(counts) => counts.not_deleted,
        Summary::Copy(_) | Summary::Move(_) | Summary::Remove(..) => 0,
    };
    Ended { failures: summary.failures(), not_deleted, signal, is_written }
}

/// What a bar counts: what is still there of the sources when the work turns out to be long, which
/// then is what has to be copied.
fn counted(request: &relocate::Request) -> Request {
    let policy = &request.policy;
    let copying = haul_engine::request::Policy::plain(policy.umask)
        .recursion(Recursion::Yes)
        .dereference(Dereference::Never);
    let (sources, target) = (request.sources.clone(), request.target.clone());
    Request::of_names(sources, target, copying, request.resources).form(request.form)
}

/// Returns the line that shows progress.
fn removed_line(counts: &Counts, time: Duration, said: &Said) -> String {
    let mut line = format!(
        "{} removed, {} of them directories, {} a second",
        grouped(counts.entries()),
        grouped(counts.directories),
        per_second(counts.entries(), time)
    );
    for part in [said.device.as_deref(), said.side].into_iter().flatten() {
        line.push_str(&format!(", {part}"));
    }
    line
}
