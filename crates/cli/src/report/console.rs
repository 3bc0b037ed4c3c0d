//! Prints what the engine reports, through the reporter of the chosen format.

use haul_engine::error::{Failure, Operation, What};
use haul_engine::monitor::{Detail, Monitor, Proposal, Report};
use haul_engine::rehearse::{Audience, Intent, Reason, Step};
use haul_engine::remove::Mode;

use super::fact::{Entry, Failed};
use super::how::How;
use super::reporter::Reporter;
use super::{format, itemize, json, question, text};
use crate::ending::point_to_help;
use crate::known_name;
use crate::output::Output;
use crate::progress::Progress;

/// The monitor of every operation.
pub(super) struct Console<'a> {
    output: &'a Output,
    how: &'a How,
    reporter: &'static dyn Reporter,
    progress: &'a Progress<'a>,
    operation: Operation,
    /// Whether a removal only pretends.
    mode: Mode,
}

impl<'a> Console<'a> {
    pub(super) fn new(
        output: &'a Output,
        how: &'a How,
        progress: &'a Progress<'a>,
        operation: Operation,
        mode: Mode,
    ) -> Console<'a> {
        Console { output, how, reporter: format::reporter(how.format), progress, operation, mode }
    }
}

/// Prints a failure: in the list of errors, as a line of the format, and as a message.
fn print_failure(
    output: &Output,
    reporter: &dyn Reporter,
    (failure, operation): (&Failure, Operation),
) {
    let failed = Failed::of(failure, operation);
    output.list(|| json::failure(&failed));
    if let Some(line) = reporter.failure(&failed) {
        output.line(&line);
    }
    for line in &failed.message {
        output.error(line);
    }
    // As with GNU, this is an error of the command line, found when the target is looked at.
    if failure.what == What::ParentsNeedDirectory {
        point_to_help(output);
    }
}

/// Adds a failure to the log of a synchronisation.
fn log_failure(how: &How, failure: &Failure, operation: Operation) {
    if let Some(log) = how.entry_lines.as_ref().and_then(|lines| lines.log.as_ref()) {
        Failed::of(failure, operation).message.iter().for_each(|line| log.add(line));
    }
}

impl Monitor for Console<'_> {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Failed(failure) => {
                log_failure(self.how, failure, self.operation);
                let failed = (failure, self.operation);
                self.progress.aside(|| print_failure(self.output, self.reporter, failed));
            }
            Report::Entry(event) => {
                let entry = Entry::of(event, self.operation, self.mode);
                if let Some(line) = self.reporter.entry(&entry, self.how) {
                    self.progress.aside(|| self.output.line(&line));
                }
            }
            Report::Moved(moved) => {
                let line = self.reporter.moved(moved, self.how);
                self.progress.aside(|| self.output.line(&line));
            }
            Report::KnownName(known) => self.output.list(|| known_name::line(known)),
            Report::AllThere(count) => {
                self.progress.aside(|| self.output.error(&text::all_there(count)));
            }
            // A digest is the sum file's.
            _ => {}
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        let is_complete = self.reporter.is_complete();
        match detail {
            Detail::Entries => self.how.verbose || self.mode == Mode::Pretend || is_complete,
            Detail::Moves => self.how.debug || self.how.explain || is_complete,
            Detail::KnownNames => self.output.has_list(),
        }
    }

    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        let Proposal::Ask(question) = proposal else { return true };
        let text = question::text(question, self.how);
        self.progress.aside(|| question::ask(self.output, &text))
    }
}

/// Which steps of a rehearsal are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// Those of entries that are not selected, too, with the rules that decided.
    Explained,
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
        let is_printed = match self.steps {
            Steps::Explained => true,
            Steps::All => step.intent != Intent::Skip(Reason::Excluded),
            Steps::Failures => false,
        };
        if is_printed {
            let decided_by = step.decided_by.clone().filter(|_| self.steps == Steps::Explained);
            self.output.line(&self.reporter.step(&Step { decided_by, ..step.clone() }));
        }
    }

    fn failed(&mut self, failure: &Failure) {
        print_failure(self.output, self.reporter, (failure, Operation::Copy));
    }
}

/// The audience of the rehearsal of a synchronisation: it prints what the run would print.
pub(super) struct SyncRehearsal<'a> {
    pub(super) output: &'a Output,
    pub(super) how: &'a How,
    pub(super) reporter: &'static dyn Reporter,
    pub(super) note: &'a (dyn Fn(&Failure) + Sync),
}

impl Audience for SyncRehearsal<'_> {
    fn step(&mut self, step: &Step) {
        let is_excluded = step.intent == Intent::Skip(Reason::Excluded);
        let line = match &self.how.entry_lines {
            _ if is_excluded => None,
            _ if self.reporter.is_complete() => {
                Some(self.reporter.step(&Step { decided_by: None, ..step.clone() }))
            }
            Some(lines) => itemize::step(step, lines),
            None => None,
        };
        if let Some(line) = line {
            self.output.line(&line);
        }
    }

    fn failed(&mut self, failure: &Failure) {
        (self.note)(failure);
        log_failure(self.how, failure, Operation::Copy);
        print_failure(self.output, self.reporter, (failure, Operation::Copy));
    }
}
