//! Translates the reports of the copy and of the removal into reports of a move: a waiting copy is
//! reported under its final name, and each failure is assigned to its operand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::approval::Approval;
use super::control::Control;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::monitor::{Detail, Event, Monitor, MovedFile, Outcome, Proposal, Report};
use crate::metadata::cannot_have;
use crate::names::path::{join, split};

/// State of an operand that is being copied, as its messages need it.
pub(super) struct OperandState {
    /// Path of the waiting copy.
    pub(super) waiting: Vec<u8>,
    /// Final path of the copy.
    pub(super) shown: Vec<u8>,
    /// Path of the backup that the existing target becomes.
    pub(super) backup: Option<Vec<u8>>,
    pub(super) has_failed: AtomicBool,
}

/// Adapter that receives the reports of a copy.
pub(super) struct CopyAdapter<'a> {
    monitor: &'a dyn Monitor,
    control: &'a Control<'a>,
    operands: &'a [OperandState],
    by_name: HashMap<&'a [u8], usize>,
    /// Length of the common prefix of all waiting paths: the directory and a slash.
    prefix: usize,
}

impl<'a> CopyAdapter<'a> {
    pub(super) fn new(
        monitor: &'a dyn Monitor,
        control: &'a Control<'a>,
        operands: &'a [OperandState],
    ) -> CopyAdapter<'a> {
        let base = |operand: &OperandState| split(&operand.waiting).0.len();
        let prefix = operands.first().map_or(0, base);
        let by_name = operands
            .iter()
            .enumerate()
            .map(|(index, operand)| (&operand.waiting[prefix..], index))
            .collect();
        CopyAdapter { monitor, control, operands, by_name, prefix }
    }

    /// Finds the operand that a path of the target belongs to, and the rest of the path after its
    /// name.
    fn find<'p>(&self, path: &'p [u8]) -> Option<(&OperandState, &'p [u8])> {
        let below = path.get(self.prefix..)?;
        let end = below.iter().position(|byte| *byte == b'/').unwrap_or(below.len());
        let (name, rest) = below.split_at_checked(end)?;
        let operand = self.operands.get(*self.by_name.get(name)?)?;
        Some((operand, rest))
    }

    fn shown(&self, path: &[u8]) -> Vec<u8> {
        match self.find(path) {
            Some((operand, rest)) => [&operand.shown, rest].concat(),
            None => path.to_vec(),
        }
    }
}

/// Returns whether a failure concerns an attribute that the target cannot store. GNU mv reports
/// such a failure and continues: a user who moves files to a simpler file system has accepted the
/// loss. If any other attribute cannot be kept, the source stays.
fn is_tolerated(failure: &Failure) -> bool {
    failure.errno.is_some_and(|errno| cannot_have(failure.what, errno))
}

impl CopyAdapter<'_> {
    fn failed(&self, failure: &Failure) {
        let mut told = failure.clone();
        if is_tolerated(failure) {
            told.severity = Severity::Warning;
        }
        if told.severity == Severity::Failure {
            Control::one(&self.control.failures);
            match self.find(&failure.target) {
                Some((operand, _)) => operand.has_failed.store(true, Ordering::Relaxed),
                // A failure that belongs to no operand fails all operands.
                None => {
                    for operand in self.operands {
                        operand.has_failed.store(true, Ordering::Relaxed);
                    }
                }
            }
        } else {
            Control::one(&self.control.warnings);
        }
        told.target = self.shown(&failure.target);
        // The source of a hard link that failed is a name in the target.
        if failure.what == What::CreateHardLink {
            told.source = self.shown(&failure.source);
        }
        self.monitor.report(Report::Failed(&told));
    }

    fn entry(&self, event: &Event) {
        // The entries that the copy removes are stale entries of an interrupted run.
        if !matches!(event.outcome, Outcome::Begun | Outcome::Copied | Outcome::Linked) {
            return;
        }
        let found = self.find(&event.target);
        let backup =
            found.and_then(|(operand, rest)| operand.backup.clone().filter(|_| rest.is_empty()));
        let target = self.shown(&event.target);
        self.monitor.report(Report::Entry(&Event { target, backup, ..event.clone() }));
    }
}

impl Monitor for CopyAdapter<'_> {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Failed(failure) => self.failed(failure),
            Report::Entry(event) => self.entry(event),
            Report::Moved(moved) => {
                let target = self.shown(&moved.target);
                self.monitor.report(Report::Moved(&MovedFile { target, ..moved.clone() }));
            }
            // A move has neither digests nor a list for a later run.
            _ => {}
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail != Detail::KnownNames && self.monitor.wants(detail)
    }

    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        self.monitor.agrees(proposal)
    }
}

/// Adapter that receives the reports of removing the sources.
pub(super) struct RemoveAdapter<'a> {
    pub(super) monitor: &'a dyn Monitor,
    pub(super) control: &'a Control<'a>,
    pub(super) approval: Approval<'a>,
    /// Common prefix of the paths of all targets.
    pub(super) shown: &'a [u8],
}

impl Monitor for RemoveAdapter<'_> {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Unlinked { before, after } => self.approval.unlinked(before, after),
            Report::Failed(_) => {
                Control::one(&self.control.failures);
                self.monitor.report(report);
            }
            _ => self.monitor.report(report),
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries && self.monitor.wants(detail)
    }

    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        // No policy of this removal asks the user.
        let Proposal::Remove(candidate) = proposal else { return false };
        if !self.approval.approves(candidate) {
            return false;
        }
        if let Err((copy, error)) = self.approval.keep_links(candidate) {
            // The file has a copy of its own, so only the link is lost.
            self.report(Report::Failed(&Failure {
                operation: Operation::Move,
                what: What::CreateHardLink,
                source: (candidate.path)(),
                target: join(&[self.shown, &copy]),
                errno: Some(error.errno),
                severity: Severity::Failure,
            }));
        }
        true
    }
}
