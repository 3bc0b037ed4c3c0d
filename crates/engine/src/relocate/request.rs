//! What the caller wants moved: plain data, valid in itself, not yet held against the world.

use std::ffi::CString;

use haul_io::DataPolicy;

use crate::request::{Backup, Existing, Order, Resources, TargetForm};

/// Whether places are taken or swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The source gets the target's place.
    Move,
    /// Both get each other's place, at once or not at all (`--exchange`).
    Exchange,
}

/// What happens where a rename would cross file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// It is copied, and then removed.
    Copy,
    /// That is a failure (`--no-copy`).
    Fail,
}

/// When a person is asked before a target is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// Everything is replaced unasked.
    All,
    /// What we may write to is, for the rest a person is asked.
    Writable,
    /// Nothing is (`-i`).
    Nothing,
}

/// How everything is to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether places are taken or swapped.
    pub mode: Mode,
    /// What happens where a rename would cross file systems.
    pub across: Across,
    /// Which existing targets are replaced.
    pub existing: Existing,
    /// Which of them without a question.
    pub unasked: Unasked,
    /// Whether they are kept under another name.
    pub backup: Option<Backup>,
    /// The order.
    pub order: Order,
    /// The bytes, where they have to be copied.
    pub data: DataPolicy,
    /// The rate that all workers together keep to.
    pub bytes_per_second: Option<u64>,
    /// The process's umask.
    pub umask: u32,
    /// Whether permission bits do not hold us.
    pub privileged: bool,
}

impl Policy {
    /// What a plain `mv` does where nobody can be asked.
    #[must_use]
    pub const fn plain(umask: u32) -> Policy {
        Policy {
            mode: Mode::Move,
            across: Across::Copy,
            existing: Existing::Overwrite,
            unasked: Unasked::All,
            backup: None,
            order: Order::Any,
            data: DataPolicy::PLAIN,
            bytes_per_second: None,
            umask,
            privileged: false,
        }
    }

    /// Tells whether a target that exists stays, whatever it is.
    pub(super) const fn keeps_existing(&self) -> bool {
        matches!(self.existing, Existing::Keep | Existing::KeepAndFail)
    }
}

/// A move that somebody wants.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to move, as it was given.
    pub sources: Vec<CString>,
    /// Where to, as it was given.
    pub target: CString,
    /// How the target is meant.
    pub form: TargetForm,
    /// How everything is to be moved.
    pub policy: Policy,
    /// How much of the machine to use for copying.
    pub resources: Resources,
    /// How much for removing, which wants fewer workers.
    pub removing: Resources,
}
