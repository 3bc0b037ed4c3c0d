//! What the engine reports, in one form for all operations and all output formats.

use std::time::Duration;

use haul_engine::error::{Failure, Operation, Severity};
use haul_engine::monitor::{self, Counts, Event};
use haul_engine::relocate;
use haul_engine::remove::Mode;
use haul_engine::request::Changes;
use haul_sys::Errno;
use haul_sys::fs::Kind;

use super::message;
use crate::waiting::Waiting;

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Adjusted,
    Begun,
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
    /// What a synchronisation changes.
    pub(super) changes: Option<Changes>,
    /// The file of which a synchronisation has made it another name.
    pub(super) linked_to: Option<&'a [u8]>,
}

impl<'a> Entry<'a> {
    /// Describes what an operation reports. In a removal that only pretends, the entry stays.
    pub(super) fn of(event: &'a Event, operation: Operation, mode: Mode) -> Entry<'a> {
        let outcome = match event.outcome {
            monitor::Outcome::Removed if mode == Mode::Pretend => Outcome::WouldRemove,
            monitor::Outcome::Adjusted => Outcome::Adjusted,
            monitor::Outcome::Begun => Outcome::Begun,
            monitor::Outcome::Copied => Outcome::Copied,
            monitor::Outcome::Exchanged => Outcome::Exchanged,
            monitor::Outcome::Linked => Outcome::Linked,
            monitor::Outcome::Parent => Outcome::Parent,
            monitor::Outcome::Removed => Outcome::Removed,
            monitor::Outcome::Renamed => Outcome::Renamed,
            monitor::Outcome::Skipped => Outcome::Skipped,
        };
        let paths = match (operation, outcome) {
            (Operation::Remove, _) => Paths::One(&event.source),
            (Operation::Move, Outcome::Removed) => Paths::Pair(&event.source, None),
            _ => Paths::Pair(&event.source, Some(&event.target)),
        };
        let kind = Some(event.kind).filter(|kind| *kind != Kind::Unknown);
        let (backup, changes) = (event.backup.as_deref(), event.changes);
        let linked_to = event.linked_to.as_deref();
        Entry { operation, outcome, kind, paths, backup, changes, linked_to }
    }
}

/// A failure or a warning.
#[derive(Clone, Debug)]
pub(super) struct Failed<'a> {
    pub(super) severity: Severity,
    /// The engine's word for the action.
    pub(super) what: &'static str,
    pub(super) errno: Option<Errno>,
    pub(super) paths: Paths<'a>,
    /// The lines of the message, without the program's name.
    pub(super) message: Vec<String>,
}

impl<'a> Failed<'a> {
    /// Describes a failure that an operation reports.
    pub(super) fn of(failure: &'a Failure, operation: Operation) -> Failed<'a> {
        let paths = match (operation, failure.operation) {
            (Operation::Remove, _) => Paths::One(&failure.source),
            (_, Operation::Remove) => Paths::Pair(&failure.source, None),
            _ => Paths::Pair(&failure.source, Some(&failure.target)),
        };
        Failed {
            severity: failure.severity,
            what: failure.what.code(),
            errno: failure.errno,
            paths,
            message: message::of(failure),
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    pub(super) summary: Summary<'a>,
    pub(super) time: Duration,
    /// Whether a signal ended it.
    pub(super) stopped: bool,
    /// What it waited for.
    pub(super) waiting: &'a Waiting,
}

/// What a run has done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summary<'a> {
    Copy(&'a Counts),
    Sync(&'a Counts),
    Move(&'a relocate::Counts),
    Remove(&'a Counts, Mode),
}

impl Summary<'_> {
    /// Returns the number of failures.
    pub(super) const fn failures(&self) -> u64 {
        match self {
            Summary::Copy(counts) | Summary::Sync(counts) | Summary::Remove(counts, _) => {
                counts.failures
            }
            Summary::Move(counts) => counts.failures,
        }
    }
}
