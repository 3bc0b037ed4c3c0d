//! Results of the steps of a copy: what remains to be done with an entry.
//!
//! A step does not call the step that follows it. It returns what comes next, and only the
//! [composer](super::compose) calls steps.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_io::method::Sharing;
use haul_io::{DataError, Moved, Pair};
use haul_sys::fs::Stat;

use super::finished::Finished;
use super::group::PendingCommit;
use super::item::Target;
use super::links::{Name, Waiting};
use super::shared_file::SharedFile;
use crate::copy::entry::OpenEntry;

/// What remains to be done with an entry.
#[expect(
    clippy::large_enum_variant,
    reason = "one value on the stack of each worker; a box would cost an allocation for each file"
)]
pub(super) enum Next<'a> {
    /// Move the bytes with this worker alone.
    FillAlone(Filling<'a>),
    /// Move the bytes with every worker that is idle.
    Share(Large<'a>),
    /// Draw ranges of a large file until none remain.
    Draw(Arc<SharedFile>),
    /// Complete the file, or remove it if its bytes could not be moved.
    Complete(Finished<'a>, Result<Moved, DataError>),
    /// Let the complete file wait for the flush of its group.
    Commit(Box<PendingCommit>),
    /// Give the complete file its name.
    Publish(Box<PendingCommit>),
    /// Link the waiting entries to the file, which has its name now.
    Link(Name, Vec<Waiting>),
    /// Report the waiting entries: their file could not be completed.
    GiveUp(Vec<Waiting>),
    /// Nothing.
    Done,
}

/// File whose target is open and whose bytes are missing.
pub(super) struct Filling<'a> {
    pub(super) entry: &'a OpenEntry<'a>,
    pub(super) source: OwnedFd,
    pub(super) stat: &'a Stat,
    pub(super) target: Target,
}

impl<'a> Filling<'a> {
    /// Returns the file as one on which the transfer has ended.
    pub(super) fn finished(self) -> Finished<'a> {
        let Filling { entry, source, stat, target } = self;
        let (inherits, new_owner) = (entry.node.inherits_acl, entry.node.new_owner);
        Finished { entry, source, stat, target, inherits, new_owner }
    }
}

/// File that is large enough for several workers, or for a worker of its own.
pub(super) struct Large<'a> {
    pub(super) filling: Filling<'a>,
    pub(super) pair: Arc<Pair>,
    /// Whether several workers share the file, or one worker copies it while other workers copy
    /// other large files.
    pub(super) sharing: Sharing,
}
