//! Interface to the caller: the reports, failures and counts of a move.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::Errno;
use haul_sys::fs::Kind;

use crate::error::Severity;
use crate::monitor::{MovedFile, Question};
use crate::{error, monitor, remove};

/// Action that failed, or reason why an operand was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Examining the source.
    Stat,
    /// Examining the target.
    StatTarget,
    /// The target directory (`-t`) is not a directory.
    TargetDirectory,
    /// The last operand must be a directory and is not one.
    TargetOperand,
    /// Source and target are the same file.
    SameFile,
    /// The target is a directory and the source is not.
    OverDirectory,
    /// The source is a directory and the target is not.
    OverNonDirectory,
    /// This run moved another source to the same target.
    JustCreated,
    /// The target exists and the policy keeps it.
    NotReplacing,
    /// Renaming the target to its backup name.
    Backup,
    /// The backup name is the name of the source.
    BackupDestroysSource,
    /// The target is inside the source directory.
    IntoItself,
    /// The same directory was given twice, and it cannot be moved to the target.
    GivenTwice,
    /// Exchanging source and target.
    Exchange,
    /// Renaming over an existing target.
    Overwrite,
    /// Renaming the source.
    Move,
    /// Replacing an existing target by a copy from another file system.
    RemoveTarget,
    /// Creating the name of a copy; the name ends in a slash and is not a directory.
    CreateFile,
    /// Waiting until the target is on stable storage.
    Sync,
    /// The source changed after it was copied, so it stays.
    Changed,
    /// Removing an unfinished copy; the target is the copy.
    Leftover,
    /// Another run is active with the same source and target.
    InUse,
    /// Recording that a copy is complete; the target is the note.
    Note,
    /// A signal ended the run while this operand was copied; the target is the unfinished copy.
    Interrupted,
}

/// A failure that concerns an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveFailure {
    /// Failed action.
    pub what: What,
    /// Path of the source for messages, as the user would type it.
    pub source: Vec<u8>,
    /// Path of the target for messages.
    pub target: Vec<u8>,
    /// Errno, if a call failed.
    pub errno: Option<Errno>,
    /// Whether the failure makes the run fail.
    pub severity: Severity,
}

/// A failure of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A failure of an operand as a whole.
    Move(MoveFailure),
    /// A failure of the copy.
    Copy(error::Failure),
    /// A failure of removing the source.
    Remove(remove::Failure),
}

/// Result for an operand or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The source was renamed.
    Renamed,
    /// Source and target were exchanged.
    Exchanged,
    /// The entry is being copied.
    Copied,
    /// A hard link to a file copied before was created.
    Linked,
    /// The target was left unchanged.
    Skipped,
    /// The source was removed after it was moved.
    Removed,
}

/// A report about an operand or an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Result.
    pub outcome: Outcome,
    /// Kind of the entry, if the move had to know it.
    pub kind: Option<Kind>,
    /// Path of the source for messages.
    pub source: Vec<u8>,
    /// Path of the target for messages; empty for a removal.
    pub target: Vec<u8>,
    /// Path of the backup of the replaced target.
    pub backup: Option<Vec<u8>>,
}

/// Receiver of the reports of a move. Any worker may call it; questions come one at a time.
pub trait Monitor: Sync {
    /// Receives a failure or a warning. Called once for each.
    fn failed(&self, failure: &Failure);

    /// Returns whether the run should call [`Monitor::entry`]; building paths takes time.
    fn wants_entries(&self) -> bool {
        false
    }

    /// Receives a report about an operand or an entry.
    fn entry(&self, _event: &Event) {}

    /// Returns whether the run should call [`Monitor::moved`].
    fn wants_moves(&self) -> bool {
        false
    }

    /// Receives the copy method of a file, after its bytes are copied.
    fn moved(&self, _moved: &MovedFile) {}

    /// Asks the user; `true` means yes. Blocks until there is an answer.
    fn ask(&self, _question: &Question) -> bool {
        false
    }
}

/// Stop flag and counters of a run, for the caller.
#[derive(Debug)]
pub struct Control<'a> {
    /// Stop flag: the caller sets it to end the run.
    pub stop: &'a AtomicBool,
    pub(super) copying: monitor::Control<'a>,
    pub(super) removing: monitor::Control<'a>,
    pub(super) renamed: AtomicU64,
    pub(super) exchanged: AtomicU64,
    pub(super) skipped: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) warnings: AtomicU64,
    pub(super) batches: AtomicU64,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of operands that were renamed.
    pub renamed: u64,
    /// Number of operands that were exchanged with their target.
    pub exchanged: u64,
    /// Number of operands whose target was left unchanged.
    pub skipped: u64,
    /// Counts of the copied entries.
    pub copied: monitor::Counts,
    /// Counts of the entries that were removed after they were copied.
    pub removed: monitor::Counts,
    /// Number of waits for the target file system.
    pub batches: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of warnings.
    pub warnings: u64,
}

impl<'a> Control<'a> {
    /// Creates the control of one run. Set `stop` to end the run.
    #[must_use]
    pub fn new(stop: &'a AtomicBool) -> Control<'a> {
        Control {
            stop,
            copying: monitor::Control::new(stop),
            removing: monitor::Control::new(stop),
            renamed: AtomicU64::new(0),
            exchanged: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            batches: AtomicU64::new(0),
        }
    }

    /// Returns the control of the copy, whose counters a progress bar can show.
    #[must_use]
    pub const fn copying(&self) -> &monitor::Control<'a> {
        &self.copying
    }

    /// Returns the sums of the counters. Any thread may call it at any time.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            renamed: read(&self.renamed),
            exchanged: read(&self.exchanged),
            skipped: read(&self.skipped),
            copied: self.copying.counts(),
            removed: self.removing.counts(),
            batches: read(&self.batches),
            failures: read(&self.failures),
            warnings: read(&self.warnings),
        }
    }

    pub(super) fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
