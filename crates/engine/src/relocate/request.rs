//! Request for a move: plain data, valid in itself, not yet checked against the file system.

use std::ffi::{CString, NulError};
use std::path::Path;

use haul_io::DataPolicy;

use crate::data::request::{
    Backup, Existing, Order, Resources, Selected, TargetForm, is_privileged,
};
use crate::data::setters::setters;
use crate::names::path::{name_of, names_of};

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
#[non_exhaustive]
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
    pub(crate) privileged: bool,
}

setters!(Policy {
    mode: Mode,
    across: Across,
    existing: Existing,
    unasked: Unasked,
    backup: Option<Backup>,
    selection: Option<Selected>,
    order: Order,
    data: DataPolicy,
    bytes_per_second: Option<u64>,
    umask: u32,
});

/// The policy of [`Policy::new`].
impl Default for Policy {
    fn default() -> Policy {
        Policy::new()
    }
}

impl Policy {
    /// Returns the policy of a plain `mv` without a terminal by this process, whose umask and privileges
    /// are found out now.
    #[must_use]
    pub fn new() -> Policy {
        Policy::plain(haul_sys::fs::current_umask())
    }

    /// Returns the policy of a plain `mv` without a terminal by a process with this umask, whose
    /// privileges are found out now.
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
            privileged: is_privileged(),
        }
    }

    /// Returns whether every existing target stays.
    pub(super) const fn keeps_existing(&self) -> bool {
        matches!(self.existing, Existing::Keep | Existing::KeepAndFail)
    }
}

/// A request for a move.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

setters!(Request { form: TargetForm, policy: Policy, resources: Resources, removing: Resources });

impl Request {
    /// Creates a request to move the sources: into the target if that is a directory, otherwise to that
    /// name. The run uses all [available](Resources::available) resources. Fails if a path contains a NUL
    /// byte.
    pub fn new(
        sources: impl IntoIterator<Item = impl AsRef<Path>>,
        target: impl AsRef<Path>,
        policy: Policy,
    ) -> Result<Request, NulError> {
        Ok(Request::of_names(names_of(sources)?, name_of(target)?, policy, Resources::available()))
    }

    /// Does the same for names that the kernel can take, with these resources.
    #[must_use]
    pub fn of_names(
        sources: impl IntoIterator<Item = CString>,
        target: CString,
        policy: Policy,
        resources: Resources,
    ) -> Request {
        Request {
            sources: sources.into_iter().collect(),
            target,
            form: TargetForm::Guess,
            policy,
            resources,
            removing: resources,
        }
    }
}
