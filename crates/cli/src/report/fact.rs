//! What the engine reports, in one form for all operations and all output formats.

use haul_engine::error::{self, Severity};
use haul_engine::monitor::{self, Counts};
use haul_engine::relocate;
use haul_engine::remove::{self, Mode, Removed};
use haul_sys::Errno;
use haul_sys::fs::Kind;

use super::message;

/// What is done to the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Copy,
    Move,
    Remove,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Copied,
    Exchanged,
    Linked,
    Parent,
    Removed,
    Renamed,
    Skipped,
    WouldRemove,
}

/// The paths of an entry, as a person would type them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paths<'a> {
    /// A source and a target; a source that was removed has no target.
    Pair(&'a [u8], Option<&'a [u8]>),
    /// One path.
    One(&'a [u8]),
}

/// An entry and what happened to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) operation: Operation,
    pub(super) outcome: Outcome,
    /// The kind, where the operation had to know it.
    pub(super) kind: Option<Kind>,
    pub(super) paths: Paths<'a>,
    /// The new path of the file that was in the way.
    pub(super) backup: Option<&'a [u8]>,
}

impl<'a> From<&'a monitor::Event> for Entry<'a> {
    fn from(event: &'a monitor::Event) -> Entry<'a> {
        Entry {
            operation: Operation::Copy,
            outcome: match event.outcome {
                monitor::Outcome::Copied => Outcome::Copied,
                monitor::Outcome::Linked => Outcome::Linked,
                monitor::Outcome::Parent => Outcome::Parent,
                monitor::Outcome::Removed => Outcome::Removed,
                monitor::Outcome::Skipped => Outcome::Skipped,
            },
            kind: Some(event.kind),
            paths: Paths::Pair(&event.source, Some(&event.target)),
            backup: event.backup.as_deref(),
        }
    }
}

impl<'a> From<&'a relocate::Event> for Entry<'a> {
    fn from(event: &'a relocate::Event) -> Entry<'a> {
        let outcome = match event.outcome {
            relocate::Outcome::Renamed => Outcome::Renamed,
            relocate::Outcome::Exchanged => Outcome::Exchanged,
            relocate::Outcome::Copied => Outcome::Copied,
            relocate::Outcome::Linked => Outcome::Linked,
            relocate::Outcome::Skipped => Outcome::Skipped,
            relocate::Outcome::Removed => Outcome::Removed,
        };
        let target = (outcome != Outcome::Removed).then_some(event.target.as_slice());
        Entry {
            operation: Operation::Move,
            outcome,
            kind: event.kind.filter(|kind| *kind != Kind::Unknown),
            paths: Paths::Pair(&event.source, target),
            backup: event.backup.as_deref(),
        }
    }
}

impl<'a> Entry<'a> {
    /// Describes an entry that a removal has removed, or would remove.
    pub(super) fn removed(removed: &'a Removed, mode: Mode) -> Entry<'a> {
        let is_pretended = mode == Mode::Pretend;
        Entry {
            operation: Operation::Remove,
            outcome: if is_pretended { Outcome::WouldRemove } else { Outcome::Removed },
            kind: Some(removed.kind).filter(|kind| *kind != Kind::Unknown),
            paths: Paths::One(&removed.path),
            backup: None,
        }
    }
}

/// A failure or a warning.
#[derive(Clone, Debug)]
pub(super) struct Failed<'a> {
    pub(super) severity: Severity,
    /// The engine's name for the action.
    pub(super) what: String,
    pub(super) errno: Option<Errno>,
    pub(super) paths: Paths<'a>,
    /// The lines of the message, without the program's name.
    pub(super) message: Vec<String>,
}

impl<'a> From<&'a error::Failure> for Failed<'a> {
    fn from(failure: &'a error::Failure) -> Failed<'a> {
        Failed {
            severity: failure.severity,
            what: format!("{:?}", failure.what),
            errno: failure.errno,
            paths: Paths::Pair(&failure.source, Some(&failure.target)),
            message: vec![message::of_copy(failure)],
        }
    }
}

impl<'a> From<&'a remove::Failure> for Failed<'a> {
    fn from(failure: &'a remove::Failure) -> Failed<'a> {
        Failed {
            severity: Severity::Failure,
            what: format!("{:?}", failure.what),
            errno: failure.errno,
            paths: Paths::One(&failure.path),
            message: message::of_removal(failure),
        }
    }
}

impl<'a> From<&'a relocate::Failure> for Failed<'a> {
    fn from(failure: &'a relocate::Failure) -> Failed<'a> {
        match failure {
            relocate::Failure::Copy(failure) => Failed::from(failure),
            relocate::Failure::Remove(failure) => {
                Failed { paths: Paths::Pair(&failure.path, None), ..Failed::from(failure) }
            }
            relocate::Failure::Move(failure) => Failed {
                severity: failure.severity,
                what: format!("{:?}", failure.what),
                errno: failure.errno,
                paths: Paths::Pair(&failure.source, Some(&failure.target)),
                message: vec![message::of_move(failure)],
            },
        }
    }
}

/// What a run has done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summary<'a> {
    Copy(&'a Counts),
    Move(&'a relocate::Counts),
    Remove(&'a Counts, Mode),
}

impl Summary<'_> {
    /// Returns the number of failures.
    pub(super) const fn failures(&self) -> u64 {
        match self {
            Summary::Copy(counts) | Summary::Remove(counts, _) => counts.failures,
            Summary::Move(counts) => counts.failures,
        }
    }
}
