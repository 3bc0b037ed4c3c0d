//! What a run tells: as text for people, as JSON lines for programs, as a summary, as a bar.

mod explain;
mod json;
pub(crate) mod rehearse;
pub(crate) mod relocate;
pub(crate) mod remove;
mod stats;
pub(crate) mod sums;
mod text;

use std::process::ExitCode;
use std::time::Instant;

use haul_engine::error::Failure;
use haul_engine::monitor::{Control, Counts, Event, Monitor, MovedFile, Question};
use haul_engine::request::Request;

use crate::option::value::ProgressWhen;
use crate::output::Output;
use crate::progress::Progress;

/// In which form entries and failures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// How much is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    pub(crate) verbose: bool,
    pub(crate) debug: bool,
    /// Whether a target that cannot be written to would be removed.
    pub(crate) overrides: bool,
    /// Whether blocks may not be shared, nor holes kept, by the policy.
    pub(crate) never_shares: bool,
    pub(crate) stats: bool,
    pub(crate) explain: bool,
    pub(crate) progress: ProgressWhen,
}

struct Reporter<'a> {
    output: &'a Output,
    how: &'a How,
    progress: &'a Progress<'a>,
}

impl Monitor for Reporter<'_> {
    fn failed(&self, failure: &Failure) {
        self.output.list(|| json::failure(failure));
        self.progress.aside(|| {
            if self.how.format == Format::Json {
                self.output.line(&json::failure(failure));
            }
            self.output.error(&crate::message::of_copy(failure));
        });
    }

    fn wants_entries(&self) -> bool {
        self.how.verbose || self.how.format == Format::Json
    }

    fn entry(&self, event: &Event) {
        self.progress.aside(|| match self.how.format {
            Format::Json => self.output.line(&json::entry(event)),
            Format::Text => {
                if let Some(line) = text::entry(event, self.how) {
                    self.output.line(&line);
                }
            }
        });
    }

    fn wants_moves(&self) -> bool {
        self.how.debug || self.how.explain || self.how.format == Format::Json
    }

    fn moved(&self, moved: &MovedFile) {
        let line = match self.how.format {
            Format::Json => json::moved(moved),
            Format::Text if self.how.explain => explain::text(moved),
            Format::Text => text::moved(moved, self.how),
        };
        self.progress.aside(|| self.output.line(&line));
    }

    fn ask(&self, question: &Question) -> bool {
        self.progress.aside(|| text::ask(self.output, question, self.how))
    }
}

/// Runs a copy, tells what happens, and returns the exit code, or dies by the signal that ended it.
pub(crate) fn run_copy(output: &Output, how: &How, request: &Request) -> ExitCode {
    run_with(output, how, request, |monitor, control| haul_engine::copy(request, monitor, control))
}

/// The same for any form of copying.
pub(crate) fn run_with(
    output: &Output,
    how: &How,
    request: &Request,
    copy: impl FnOnce(&dyn Monitor, &Control<'_>) -> Counts,
) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    let resources = request.resources;
    let control = Control::new(resources.jobs.max(resources.waiting_jobs), stop);
    let mut progress = Progress::new(how.progress, how.verbose);
    if how.format == Format::Json {
        progress = progress.telling(output, how.progress);
    }
    let started = Instant::now();
    let counts = std::thread::scope(|scope| {
        progress.start(scope, &control, request, crate::progress::of_copy(request), || 0);
        let reporter = Reporter { output, how, progress: &progress };
        let counts = copy(&reporter, &control);
        progress.end();
        counts
    });
    summarise(output, how, &counts, started);
    let told = output.finish();
    if let Some(signal) = haul_sys::process::stop_signal() {
        haul_sys::process::die_by(signal);
    }
    if counts.failures > 0 || !told { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn summarise(output: &Output, how: &How, counts: &Counts, started: Instant) {
    let time = started.elapsed();
    let stopped = haul_sys::process::stop_signal().is_some();
    if how.format == Format::Json {
        output.line(&json::summary(counts, time, stopped));
    }
    if how.stats {
        output.raw_error(&stats::summary(counts, time));
    }
    if stopped && !how.stats {
        output.error(&stats::stopped(counts));
    }
}
