//! What the caller wants gone: plain data, valid in itself, not yet held against the world.

use std::ffi::CString;
use std::num::NonZeroU64;

use crate::request::{Borders, Order, Recursion, Resources};

/// What happens with an empty directory where trees are not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyDirectories {
    /// It is refused like any other.
    Refuse,
    /// It goes (`-d`).
    Remove,
}

/// Whether somebody else may write to what is removed; only asked where a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// We may write to it, or nobody wanted to know.
    None,
    /// We may not.
    Protected,
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Never.
    Never,
    /// Before what we may not write to.
    Protected,
    /// Before everything (`-i`).
    Always,
}

/// What a name that is not there means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A failure.
    Fail,
    /// That there is nothing to do (`-f`).
    Ignore,
}

/// Whether a throttle is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It stops what it is there for.
    On,
    /// A person has taken it off.
    Off,
}

/// How much the rest of the machine is spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// As fast as it goes.
    Full,
    /// One worker, resting as long as it works; large files are given up step by step.
    Gentle,
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// At most this many entries a second.
    pub per_second: Option<NonZeroU64>,
    /// How much others are spared.
    pub strategy: Strategy,
}

/// Whether it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is.
    Remove,
    /// Only what would be removed is told.
    Pretend,
}

/// Whether each entry is removed only if the monitor approves of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Everything goes.
    NotNeeded,
    /// [`super::Monitor::approves`] is asked immediately before each entry is removed, and before each
    /// directory is entered. What it refuses stays, is reported as changed, and keeps the directories
    /// above it.
    Each,
}

/// How everything is to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether directories go with all that is in them.
    pub recursion: Recursion,
    /// Whether empty ones go all the same.
    pub empty_directories: EmptyDirectories,
    /// When a person is asked.
    pub ask: Ask,
    /// What a missing name means.
    pub missing: Missing,
    /// Whether other file systems are entered.
    pub borders: Borders,
    /// Guards the root directory, by whatever name.
    pub root: Guard,
    /// Guards operands that are mount points.
    pub mount_points: Guard,
    /// The order.
    pub order: Order,
    /// How fast.
    pub pace: Pace,
    /// Whether it is meant.
    pub mode: Mode,
    /// Whether the monitor decides about each entry.
    pub approval: Approval,
    /// Whether permission bits do not hold us.
    pub privileged: bool,
}

impl Policy {
    /// What a plain `rm` does where nobody can be asked.
    pub const PLAIN: Policy = Policy {
        recursion: Recursion::No,
        empty_directories: EmptyDirectories::Refuse,
        ask: Ask::Never,
        missing: Missing::Fail,
        borders: Borders::Cross,
        root: Guard::On,
        mount_points: Guard::Off,
        order: Order::Any,
        pace: Pace { per_second: None, strategy: Strategy::Full },
        mode: Mode::Remove,
        approval: Approval::NotNeeded,
        privileged: false,
    };
}

/// A removal that somebody wants.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to remove, as it was given.
    pub operands: Vec<CString>,
    /// How.
    pub policy: Policy,
    /// How much of the machine to use.
    pub resources: Resources,
}

impl Request {
    /// Asks for the operands to be removed, with all [available](Resources::available) resources.
    #[must_use]
    pub fn new(operands: impl IntoIterator<Item = CString>, policy: Policy) -> Request {
        let operands = operands.into_iter().collect();
        Request { operands, policy, resources: Resources::available() }
    }
}
