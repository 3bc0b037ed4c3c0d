//! Request for a move: plain data, valid in itself, not yet checked against the file system.

use std::ffi::CString;

use haul_io::DataPolicy;

use crate::data::request::{Backup, Existing, Order, Resources, Selected, TargetForm};

/// Whether the source replaces the target or is exchanged with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The source is renamed to the target's name.
    Move,
    /// Source and target exchange their names atomically (`--exchange`).
    Exchange,
}

/// Behaviour if a rename would cross file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// The source is copied and then removed.
    Copy,
    /// The operand fails (`--no-copy`).
    Fail,
}

/// Which targets are replaced without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// All targets.
    All,
    /// Targets that the user may write to.
    Writable,
    /// No target (`-i`).
    Nothing,
}

/// Policy of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether the source replaces the target or is exchanged with it.
    pub mode: Mode,
    /// Behaviour if a rename would cross file systems.
    pub across: Across,
    /// Existing targets that are replaced.
    pub existing: Existing,
    /// Existing targets that are replaced without a question.
    pub unasked: Unasked,
    /// Backup of replaced targets.
    pub backup: Option<Backup>,
    /// Entries that are moved; `None` moves all of them. A directory with a selection is copied and removed
    /// also within a file system, because a rename moves everything in it.
    pub selection: Option<Selected>,
    /// Order of the operands and entries.
    pub order: Order,
    /// Copy of the bytes across file systems.
    pub data: DataPolicy,
    /// Rate limit for all workers together.
    pub bytes_per_second: Option<u64>,
    /// Umask of the process.
    pub umask: u32,
    /// Whether the process may override permission bits.
    pub privileged: bool,
}

impl Policy {
    /// Policy of a plain `mv` without a terminal.
    #[must_use]
    pub fn plain(umask: u32) -> Policy {
        Policy {
            mode: Mode::Move,
            across: Across::Copy,
            existing: Existing::Overwrite,
            unasked: Unasked::All,
            backup: None,
            selection: None,
            order: Order::Any,
            data: DataPolicy::of_run(),
            bytes_per_second: None,
            umask,
            privileged: false,
        }
    }

    /// Returns whether every existing target stays.
    pub(super) const fn keeps_existing(&self) -> bool {
        matches!(self.existing, Existing::Keep | Existing::KeepAndFail)
    }
}

/// A request for a move.
#[derive(Clone, Debug)]
pub struct Request {
    /// Sources as they were given.
    pub sources: Vec<CString>,
    /// Target as it was given.
    pub target: CString,
    /// Interpretation of the target.
    pub form: TargetForm,
    /// Policy of the move.
    pub policy: Policy,
    /// Resources for copying.
    pub resources: Resources,
    /// Resources for removing, which needs fewer workers.
    pub removing: Resources,
}
