//! The exit status of `sync`: rsync's numbers, of what a run has reported.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_engine::error::{Failure, Severity, What};
use haul_engine::monitor::{Detail, Monitor, Proposal, Report};
use haul_engine::request::Request;
use haul_sys::Errno;

use crate::report::Ended;

/// The target cannot be made or opened.
const NO_TARGET: u8 = 11;

/// A signal has ended the run.
const STOPPED: u8 = 20;

/// Something was not copied, or not removed.
pub(super) const PARTIAL: u8 = 23;

/// Entries have vanished from a source, and nothing else has failed.
const VANISHED: u8 = 24;

/// The time of `--stop-after` or `--stop-at` has come.
pub(super) const OUT_OF_TIME: u8 = 30;

/// `--max-delete` has kept entries, and nothing has failed.
const LIMITED: u8 = 25;

/// What a run has reported so far, as far as the exit status depends on it.
#[derive(Debug)]
pub(super) struct Status<'a> {
    request: &'a Request,
    has_no_target: AtomicBool,
    has_vanished: AtomicBool,
    has_failed: AtomicBool,
}

impl<'a> Status<'a> {
    /// Creates the status of a run that has reported nothing.
    pub(super) fn new(request: &'a Request) -> Status<'a> {
        Status {
            request,
            has_no_target: AtomicBool::new(false),
            has_vanished: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Takes a failure into account.
    pub(super) fn note(&self, failure: &Failure) {
        if failure.severity == Severity::Warning {
            return;
        }
        let which = if self.is_of_target(failure) {
            &self.has_no_target
        } else if self.is_of_vanished(failure) {
            &self.has_vanished
        } else {
            &self.has_failed
        };
        which.store(true, Ordering::Relaxed);
    }

    /// Returns whether the target itself cannot be made or opened.
    fn is_of_target(&self, failure: &Failure) -> bool {
        let is_operand = trimmed(&failure.target) == trimmed(self.request.target.as_bytes());
        match failure.what {
            What::TargetDirectory | What::TargetOperand => true,
            What::CreateDirectory | What::OpenDirectory | What::StatTarget => is_operand,
            _ => false,
        }
    }

    /// Returns whether an entry was there when its directory was read. That an operand is missing is an error of the
    /// command line.
    fn is_of_vanished(&self, failure: &Failure) -> bool {
        let is_of_source = matches!(
            failure.what,
            What::Stat | What::OpenSource | What::ReadDirectory | What::ReadLink
        );
        let is_operand = || {
            let mut operands = self.request.sources.iter();
            operands.any(|operand| trimmed(operand.as_bytes()) == trimmed(&failure.source))
        };
        // A link that leads nowhere is there.
        let is_there = || std::fs::symlink_metadata(OsStr::from_bytes(&failure.source)).is_ok();
        is_of_source && failure.errno == Some(Errno::NOENT) && !is_operand() && !is_there()
    }

    /// Returns the exit status of a run that has ended.
    pub(super) fn code(&self, ended: &Ended) -> u8 {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if ended.signal.is_some() {
            return STOPPED;
        }
        if is_set(&self.has_no_target) {
            return NO_TARGET;
        }
        if is_set(&self.has_failed) || !ended.is_written {
            return PARTIAL;
        }
        if is_set(&self.has_vanished) {
            return VANISHED;
        }
        match (ended.not_deleted, ended.failures) {
            // Failures that were counted and not reported.
            (0, 1..) => PARTIAL,
            (0, 0) => 0,
            _ => LIMITED,
        }
    }
}

/// Returns a path without the slashes at its end.
fn trimmed(path: &[u8]) -> &[u8] {
    let length = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &path[..length]
}

/// Passes reports on to another monitor, and takes failures into account.
pub(super) struct Noting<'a> {
    pub(super) status: &'a Status<'a>,
    pub(super) monitor: &'a dyn Monitor,
}

impl Monitor for Noting<'_> {
    fn report(&self, report: Report<'_>) {
        if let Report::Failed(failure) = report {
            self.status.note(failure);
        }
        self.monitor.report(report);
    }

    fn wants(&self, detail: Detail) -> bool {
        self.monitor.wants(detail)
    }

    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        self.monitor.agrees(proposal)
    }
}
