//! The seam outwards: what is told of a move, what can go wrong, and what was done.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::Errno;
use haul_sys::fs::Kind;

use crate::error::Severity;
use crate::monitor::{MovedFile, Question};
use crate::{error, monitor, remove};

/// What was being done when something failed, or why it was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Looking at the source.
    Stat,
    /// Looking at the target.
    StatTarget,
    /// The target directory (`-t`) is none.
    TargetDirectory,
    /// The last operand is to be a directory and is none.
    TargetOperand,
    /// Both are the same file.
    SameFile,
    /// The target is a directory and the source is not.
    OverDirectory,
    /// The source is a directory and the target is not.
    OverNonDirectory,
    /// This run moved another source there.
    JustCreated,
    /// The target exists and is to stay.
    NotReplacing,
    /// Giving the target its backup's name.
    Backup,
    /// The backup's name is the source's.
    BackupDestroysSource,
    /// A directory would come to lie in itself.
    IntoItself,
    /// The same directory was given before, and it cannot be moved there.
    GivenTwice,
    /// The two could not change places.
    Exchange,
    /// Renaming, and the target is in the way.
    Overwrite,
    /// Renaming.
    Move,
    /// Putting a copy in the place of what is there, across file systems.
    RemoveTarget,
    /// Making a copy's name; it ends in a slash and is no directory.
    CreateFile,
    /// Waiting until the target is on stable storage.
    Sync,
    /// The source is not what was copied any more, so it stays.
    Changed,
    /// Taking an unfinished copy away; the target is the copy.
    Leftover,
    /// Another run is at work with the same source and target.
    InUse,
    /// Writing down that a copy is complete; the target is the note.
    Note,
    /// A signal ended the run while this was copied; the target is what there is of it.
    Interrupted,
}

/// One thing that went wrong with an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveFailure {
    /// What was being done.
    pub what: What,
    /// The source's path for people, as they would type it.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
    /// What the kernel said, if it was asked.
    pub errno: Option<Errno>,
    /// Whether the run fails by it.
    pub severity: Severity,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// With an operand as a whole.
    Move(MoveFailure),
    /// While it was copied.
    Copy(error::Failure),
    /// While the source was removed.
    Remove(remove::Failure),
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was renamed.
    Renamed,
    /// It changed places with the target.
    Exchanged,
    /// It is being copied.
    Copied,
    /// It was made another name of a file that was copied before.
    Linked,
    /// The target was left as it is.
    Skipped,
    /// The source was removed, for it is in its new place.
    Removed,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What became of it.
    pub outcome: Outcome,
    /// Its kind, where that had to be known.
    pub kind: Option<Kind>,
    /// The source's path for people.
    pub source: Vec<u8>,
    /// The target's path for people; nothing where it was removed.
    pub target: Vec<u8>,
    /// The path that what was there before has now.
    pub backup: Option<Vec<u8>>,
}

/// Hears what happens. Called by any worker; questions come one at a time.
pub trait Monitor: Sync {
    /// Hears of a failure or a warning. Called once for each.
    fn failed(&self, failure: &Failure);

    /// Tells whether [`Monitor::entry`] wants to be called, for building paths costs time.
    fn wants_entries(&self) -> bool {
        false
    }

    /// Hears of something that happened.
    fn entry(&self, _event: &Event) {}

    /// Tells whether [`Monitor::moved`] wants to be called.
    fn wants_moves(&self) -> bool {
        false
    }

    /// Hears how the bytes of a file were moved, once they are.
    fn moved(&self, _moved: &MovedFile) {}

    /// Asks a person; `true` is yes. Blocks until there is an answer.
    fn ask(&self, _question: &Question) -> bool {
        false
    }
}

/// What a caller holds in its hand while a run goes on.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set it to end the run.
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

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operands that were renamed.
    pub renamed: u64,
    /// Operands that changed places with their target.
    pub exchanged: u64,
    /// Operands whose target was left as it is.
    pub skipped: u64,
    /// What was copied, entry by entry.
    pub copied: monitor::Counts,
    /// What was removed after it was copied.
    pub removed: monitor::Counts,
    /// How often the target file system was waited for.
    pub batches: u64,
    /// Failures.
    pub failures: u64,
    /// Warnings.
    pub warnings: u64,
}

impl<'a> Control<'a> {
    /// Makes a control for one run. Set `stop` to end it.
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

    /// Returns the control of what is copied, whose counters a bar can show.
    #[must_use]
    pub const fn copying(&self) -> &monitor::Control<'a> {
        &self.copying
    }

    /// Sums up the counters; at any time, from any thread.
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
