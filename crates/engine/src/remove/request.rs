//! Request for a removal: plain data, valid in itself, not yet checked against the file system.

use std::collections::HashSet;
use std::ffi::{CString, NulError};
use std::num::NonZeroU64;
use std::path::Path;

use crate::data::request::{Borders, Order, Recursion, Resources, Selected, is_privileged};
use crate::data::setters::setters;
use crate::names::by_identity::Identity;
use crate::names::path::names_of;

/// Treatment of an empty directory if the removal is not recursive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyDirectories {
    /// An empty directory is refused like any other.
    Refuse,
    /// An empty directory is removed (`-d`).
    Remove,
}

/// When the user is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Never.
    Never,
    /// Before the removal of a write-protected entry.
    Protected,
    /// Before every removal (`-i`).
    Always,
}

/// Meaning of a name that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A failure.
    Fail,
    /// No failure (`-f`).
    Ignore,
}

/// Whether a guard is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The guard refuses what it protects.
    On,
    /// The user has disabled the guard.
    Off,
}

/// Treatment of operands that are mount points. Such a directory cannot be removed as long as it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountPoints {
    /// The entries are removed, and then the directory is reported as busy, as GNU rm does.
    Emptied,
    /// They are refused.
    Kept,
    /// They are refused, because the user has asked for that (`--preserve-root=all`).
    KeptAsAsked,
}

/// Strategy towards other users of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The removal runs at full speed.
    Full,
    /// Workers free large files step by step. How long they rest, [`haul_io::gentle`] decides. In a process that is
    /// not gentle, the run has one worker and a governor of its own.
    Gentle,
}

/// Pace of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Maximum number of entries per second.
    pub per_second: Option<NonZeroU64>,
    /// Strategy towards other users of the machine.
    pub strategy: Strategy,
}

/// Whether the run removes entries or only reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Entries are removed.
    Remove,
    /// The run only reports what it would remove.
    Pretend,
}

/// Whether each entry is removed only if the monitor approves of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Every entry is removed.
    NotNeeded,
    /// The run calls [`super::Monitor::approves`] immediately before it removes an entry, and
    /// before it enters a directory. A refused entry stays, is reported as changed, and keeps the
    /// directories above it.
    Each,
}

/// Policy of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Whether directories are removed with their content.
    pub recursion: Recursion,
    /// Treatment of empty directories without recursion.
    pub empty_directories: EmptyDirectories,
    /// When the user is asked.
    pub ask: Ask,
    /// Meaning of a name that does not exist.
    pub missing: Missing,
    /// Whether other file systems are entered.
    pub borders: Borders,
    /// Guard of the root directory, under any name.
    pub root: Guard,
    /// Treatment of operands that are mount points.
    pub mount_points: MountPoints,
    /// Order of the operands and entries.
    pub order: Order,
    /// Pace of the removal.
    pub pace: Pace,
    /// Whether the run removes entries or only reports them.
    pub mode: Mode,
    /// Whether the monitor decides about each entry.
    pub approval: Approval,
    /// Whether the process may override permission bits.
    pub(crate) privileged: bool,
}

setters!(Policy {
    recursion: Recursion,
    empty_directories: EmptyDirectories,
    ask: Ask,
    missing: Missing,
    borders: Borders,
    root: Guard,
    mount_points: MountPoints,
    order: Order,
    pace: Pace,
    mode: Mode,
    approval: Approval,
});

/// The policy of [`Policy::new`].
impl Default for Policy {
    fn default() -> Policy {
        Policy::new()
    }
}

impl Policy {
    /// Returns the policy of a plain `rm` without a terminal by this process, whose privileges are found
    /// out now. Directories are refused until `recursion` says otherwise.
    #[must_use]
    pub fn new() -> Policy {
        Policy { privileged: is_privileged(), ..Policy::PLAIN }
    }

    /// Policy of a plain `rm` without a terminal by a process without privileges.
    pub(crate) const PLAIN: Policy = Policy {
        recursion: Recursion::No,
        empty_directories: EmptyDirectories::Refuse,
        ask: Ask::Never,
        missing: Missing::Fail,
        borders: Borders::Cross,
        root: Guard::On,
        mount_points: MountPoints::Emptied,
        order: Order::Any,
        pace: Pace { per_second: None, strategy: Strategy::Full },
        mode: Mode::Remove,
        approval: Approval::NotNeeded,
        privileged: false,
    };
}

/// A request for a removal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Operands as they were given.
    pub operands: Vec<CString>,
    /// Policy of the removal.
    pub policy: Policy,
    /// Resources of the removal.
    pub resources: Resources,
    /// Entries that are removed; `None` removes all of them. A directory is removed if it became empty.
    pub selection: Option<Selected>,
    /// The files that operands may be; `None` permits any. A name that leads to another one stays without a report.
    pub(crate) only: Option<HashSet<Identity>>,
}

setters!(Request {
    policy: Policy,
    resources: Resources,
    selection: Option<Selected>,
});

impl Request {
    /// Creates a request to remove the operands with all [available](Resources::available)
    /// resources. Fails if a path contains a NUL byte.
    pub fn new(
        operands: impl IntoIterator<Item = impl AsRef<Path>>,
        policy: Policy,
    ) -> Result<Request, NulError> {
        Ok(Request::of_names(names_of(operands)?, policy, Resources::available()))
    }

    /// Does the same for names that the kernel can take, with these resources.
    #[must_use]
    pub fn of_names(
        operands: impl IntoIterator<Item = CString>,
        policy: Policy,
        resources: Resources,
    ) -> Request {
        Request {
            operands: operands.into_iter().collect(),
            policy,
            resources,
            selection: None,
            only: None,
        }
    }
}
