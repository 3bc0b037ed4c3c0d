//! What the copy and the removal tell, put into a move's terms: waiting copies are called by the
//! names that they are to get, and each failure is laid at its operand's door.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::Stat;

use super::approval::Approval;
use super::monitor::{Control, Event, Failure, Monitor, Outcome};
use crate::error::{self, Severity};
use crate::metadata::cannot_have;
use crate::monitor::{self, MovedFile, Question};
use crate::remove;
use crate::walk::path::split;

/// An operand that is being copied, as far as its messages are concerned.
pub(super) struct OperandState {
    /// The path of its waiting copy.
    pub(super) waiting: Vec<u8>,
    /// The path that the copy is to get.
    pub(super) shown: Vec<u8>,
    /// The backup that what is there now will become.
    pub(super) backup: Option<Vec<u8>>,
    pub(super) has_failed: AtomicBool,
}

/// Hears a copy.
pub(super) struct CopyAdapter<'a> {
    monitor: &'a dyn Monitor,
    control: &'a Control<'a>,
    voices: &'a [OperandState],
    by_name: HashMap<&'a [u8], usize>,
    /// The length of what all waiting paths begin with: the directory and a slash.
    prefix: usize,
}

impl<'a> CopyAdapter<'a> {
    pub(super) fn new(
        monitor: &'a dyn Monitor,
        control: &'a Control<'a>,
        voices: &'a [OperandState],
    ) -> CopyAdapter<'a> {
        let base = |voice: &OperandState| split(&voice.waiting).0.len();
        let prefix = voices.first().map_or(0, base);
        let by_name = voices
            .iter()
            .enumerate()
            .map(|(index, voice)| (voice.waiting.get(prefix..).unwrap_or(&[]), index))
            .collect();
        CopyAdapter { monitor, control, voices, by_name, prefix }
    }

    /// Finds the operand that a path of the target belongs to, and what is behind its name.
    fn find<'p>(&self, path: &'p [u8]) -> Option<(&OperandState, &'p [u8])> {
        let below = path.get(self.prefix..)?;
        let end = below.iter().position(|byte| *byte == b'/').unwrap_or(below.len());
        let (name, rest) = below.split_at_checked(end)?;
        let voice = self.voices.get(*self.by_name.get(name)?)?;
        Some((voice, rest))
    }

    fn shown(&self, path: &[u8]) -> Vec<u8> {
        match self.find(path) {
            Some((voice, rest)) => [&voice.shown, rest].concat(),
            None => path.to_vec(),
        }
    }
}

/// Returns whether a failure is about an attribute that the target cannot have. GNU mv reports those
/// and goes on: a user who moves files to a simpler file system has chosen that. Any other attribute
/// that could not be kept keeps the source where it is.
fn is_tolerated(failure: &error::Failure) -> bool {
    failure.errno.is_some_and(|errno| cannot_have(failure.what, errno))
}

impl monitor::Monitor for CopyAdapter<'_> {
    fn failed(&self, failure: &error::Failure) {
        let mut told = failure.clone();
        if is_tolerated(failure) {
            told.severity = Severity::Warning;
        }
        if told.severity == Severity::Failure {
            Control::one(&self.control.failures);
            match self.find(&failure.target) {
                Some((voice, _)) => voice.has_failed.store(true, Ordering::Relaxed),
                // Nobody's failure is everybody's.
                None => {
                    for voice in self.voices {
                        voice.has_failed.store(true, Ordering::Relaxed);
                    }
                }
            }
        } else {
            Control::one(&self.control.warnings);
        }
        told.target = self.shown(&failure.target);
        // The source of a link that failed is a name in the target.
        if failure.what == error::What::CreateHardLink {
            told.source = self.shown(&failure.source);
        }
        self.monitor.failed(&Failure::Copy(told));
    }

    fn wants_entries(&self) -> bool {
        self.monitor.wants_entries()
    }

    fn entry(&self, event: &monitor::Event) {
        let outcome = match event.outcome {
            monitor::Outcome::Copied => Outcome::Copied,
            monitor::Outcome::Linked => Outcome::Linked,
            // What makes way is the leftover of an interrupted run.
            monitor::Outcome::Removed | monitor::Outcome::Parent | monitor::Outcome::Skipped => {
                return;
            }
        };
        let found = self.find(&event.target);
        let backup =
            found.and_then(|(voice, rest)| voice.backup.clone().filter(|_| rest.is_empty()));
        self.monitor.entry(&Event {
            outcome,
            kind: Some(event.kind),
            source: event.source.clone(),
            target: self.shown(&event.target),
            backup,
        });
    }

    fn wants_moves(&self) -> bool {
        self.monitor.wants_moves()
    }

    fn moved(&self, moved: &MovedFile) {
        let target = self.shown(&moved.target);
        self.monitor.moved(&MovedFile { target, ..moved.clone() });
    }

    fn ask(&self, question: &Question) -> bool {
        self.monitor.ask(question)
    }
}

/// Hears the removal of sources.
pub(super) struct RemoveAdapter<'a> {
    pub(super) monitor: &'a dyn Monitor,
    pub(super) control: &'a Control<'a>,
    pub(super) approval: Approval<'a>,
}

impl remove::Monitor for RemoveAdapter<'_> {
    fn failed(&self, failure: &remove::Failure) {
        Control::one(&self.control.failures);
        self.monitor.failed(&Failure::Remove(failure.clone()));
    }

    fn wants_entries(&self) -> bool {
        self.monitor.wants_entries()
    }

    fn approves(&self, candidate: &remove::Candidate<'_>) -> bool {
        self.approval.approves(candidate)
    }

    fn unlinked(&self, before: &Stat, after: &Stat) {
        self.approval.unlinked(before, after);
    }

    fn removed(&self, removed: &remove::Removed) {
        self.monitor.entry(&Event {
            outcome: Outcome::Removed,
            kind: Some(removed.kind),
            source: removed.path.clone(),
            target: Vec::new(),
            backup: None,
        });
    }
}

/// Hears the removal of what a run has left behind: nothing that a person has to know of, unless it
/// fails.
pub(super) struct QuietAdapter<'a> {
    pub(super) monitor: &'a dyn Monitor,
    pub(super) control: &'a Control<'a>,
}

impl remove::Monitor for QuietAdapter<'_> {
    fn failed(&self, failure: &remove::Failure) {
        Control::one(&self.control.failures);
        self.monitor.failed(&Failure::Remove(failure.clone()));
    }
}
