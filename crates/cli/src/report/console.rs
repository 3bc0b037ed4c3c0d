//! Prints what the engine reports, through the reporter of the chosen format.

use haul_engine::monitor::{self, MovedFile};
use haul_engine::rehearse::{Audience, Step};
use haul_engine::remove::{Mode, Removed};
use haul_engine::{error, relocate, remove};

use super::fact::{Entry, Failed};
use super::how::How;
use super::reporter::Reporter;
use super::{format, json, question};
use crate::output::Output;
use crate::progress::Progress;

/// The monitor of every operation.
pub(super) struct Console<'a> {
    output: &'a Output,
    how: &'a How,
    reporter: &'static dyn Reporter,
    progress: &'a Progress<'a>,
    /// Whether a removal only pretends.
    mode: Mode,
}

impl<'a> Console<'a> {
    pub(super) fn new(
        output: &'a Output,
        how: &'a How,
        progress: &'a Progress<'a>,
        mode: Mode,
    ) -> Console<'a> {
        Console { output, how, reporter: format::reporter(how.format), progress, mode }
    }

    fn print_failure(&self, failed: &Failed<'_>) {
        self.progress.aside(|| print_failure(self.output, self.reporter, failed));
    }

    fn print_entry(&self, entry: &Entry<'_>) {
        if let Some(line) = self.reporter.entry(entry, self.how) {
            self.progress.aside(|| self.output.line(&line));
        }
    }

    fn print_moved(&self, moved: &MovedFile) {
        let line = self.reporter.moved(moved, self.how);
        self.progress.aside(|| self.output.line(&line));
    }

    fn wants_entries(&self) -> bool {
        self.how.verbose || self.mode == Mode::Pretend || self.reporter.is_complete()
    }

    fn wants_moves(&self) -> bool {
        self.how.debug || self.how.explain || self.reporter.is_complete()
    }

    fn ask_to_overwrite(&self, question: &monitor::Question) -> bool {
        let text = question::of_overwriting(question, self.how);
        self.progress.aside(|| question::ask(self.output, &text))
    }
}

/// Prints a failure: in the list of errors, as a line of the format, and as a message.
fn print_failure(output: &Output, reporter: &dyn Reporter, failed: &Failed<'_>) {
    output.list(|| json::failure(failed));
    if let Some(line) = reporter.failure(failed) {
        output.line(&line);
    }
    for line in &failed.message {
        output.error(line);
    }
}

impl monitor::Monitor for Console<'_> {
    fn failed(&self, failure: &error::Failure) {
        self.print_failure(&failure.into());
    }

    fn wants_entries(&self) -> bool {
        self.wants_entries()
    }

    fn entry(&self, event: &monitor::Event) {
        self.print_entry(&event.into());
    }

    fn wants_moves(&self) -> bool {
        self.wants_moves()
    }

    fn moved(&self, moved: &MovedFile) {
        self.print_moved(moved);
    }

    fn ask(&self, question: &monitor::Question) -> bool {
        self.ask_to_overwrite(question)
    }
}

impl relocate::Monitor for Console<'_> {
    fn failed(&self, failure: &relocate::Failure) {
        self.print_failure(&failure.into());
    }

    fn wants_entries(&self) -> bool {
        self.wants_entries()
    }

    fn entry(&self, event: &relocate::Event) {
        self.print_entry(&event.into());
    }

    fn wants_moves(&self) -> bool {
        self.wants_moves()
    }

    fn moved(&self, moved: &MovedFile) {
        self.print_moved(moved);
    }

    fn ask(&self, question: &monitor::Question) -> bool {
        self.ask_to_overwrite(question)
    }
}

impl remove::Monitor for Console<'_> {
    fn failed(&self, failure: &remove::Failure) {
        self.print_failure(&failure.into());
    }

    fn wants_entries(&self) -> bool {
        self.wants_entries()
    }

    fn removed(&self, removed: &Removed) {
        self.print_entry(&Entry::removed(removed, self.mode));
    }

    fn ask(&self, question: &remove::Question) -> bool {
        let text = question::of_removal(question);
        self.progress.aside(|| question::ask(self.output, &text))
    }
}

/// Which steps of a rehearsal are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    All,
    Failures,
}

/// The audience of a rehearsal, which draws no bar.
pub(super) struct Rehearsal<'a> {
    pub(super) output: &'a Output,
    pub(super) reporter: &'static dyn Reporter,
    pub(super) steps: Steps,
}

impl Audience for Rehearsal<'_> {
    fn step(&mut self, step: &Step) {
        if self.steps == Steps::All {
            self.output.line(&self.reporter.step(step));
        }
    }

    fn failed(&mut self, failure: &error::Failure) {
        print_failure(self.output, self.reporter, &failure.into());
    }
}
