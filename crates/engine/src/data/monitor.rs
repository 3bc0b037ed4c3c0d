//! Interface to the caller: the reports of the engine while it runs, and the stop flag.

use haul_sys::sync::Mutex;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use haul_io::MethodId;
use haul_io::cache::ledger::LedgerSummary;
pub use haul_sys::fs::{Kind, Stat};

use crate::data::cached::{CachedCounters, CachedCounts};
use crate::data::error::Failure;
use crate::data::synchronize::Changes;
use crate::names::known_names::KnownName;

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run begins to create the entry from the source. If it is completed, another report follows;
    /// otherwise a failure.
    Begun,
    /// The entry was created from the source, and is complete: its bytes, its attributes and its name. Of a
    /// move, the operand that it belongs to may still have a hidden name.
    Copied,
    /// The entry is a leading directory of an operand, and was created for that operand.
    Parent,
    /// The entry is being created as a hard link to a file copied before.
    Linked,
    /// The entry was removed: by a removal, after it was moved, or because a new one replaces it.
    /// A removal that only pretends reports it, too.
    Removed,
    /// The entry was left unchanged.
    Skipped,
    /// Attributes of the entry were set, and its content is as it was: by a synchronisation.
    Adjusted,
    /// The operand was renamed.
    Renamed,
    /// The operand and its target were exchanged.
    Exchanged,
}

/// A report about one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Result.
    pub outcome: Outcome,
    /// Kind of the entry; [`Kind::Unknown`] if the operation did not need it.
    pub kind: Kind,
    /// Path of the source for messages.
    pub source: Vec<u8>,
    /// Path of the target for messages; empty for a removal.
    pub target: Vec<u8>,
    /// Path of the backup of the replaced target.
    pub backup: Option<Vec<u8>>,
    /// What a synchronisation changes; `None` in other runs, and of entries that are complete.
    pub changes: Option<Changes>,
    /// Path in the target of the file of which a synchronisation has made the entry another name.
    pub linked_to: Option<Vec<u8>>,
}

/// A file whose bytes were copied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedFile {
    /// Path of the source for messages.
    pub source: Vec<u8>,
    /// Path of the target for messages.
    pub target: Vec<u8>,
    /// Methods and amounts.
    pub moved: haul_io::Moved,
    /// How it got its name.
    pub named: haul_io::publish::Named,
}

/// Whether an entry is write-protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The user may write to the entry, or it does not matter.
    None,
    /// The user may not write to the entry.
    Protected,
}

/// Subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptReason {
    /// Overwriting a target.
    Overwrite {
        /// Permission bits of the target, if the user may not write to it.
        unwritable_mode: Option<u32>,
    },
    /// Removing the entries of a directory that is not empty.
    Descend(Protection),
    /// Removing a directory that cannot be read.
    TryInaccessible,
    /// Removing an entry of this kind and size.
    Remove {
        /// Kind of the entry.
        kind: Kind,
        /// Size in bytes.
        size: u64,
        /// Whether the entry is write-protected.
        protection: Protection,
    },
}

/// A question for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Path for messages: the target that would be overwritten, or the entry.
    pub path: Vec<u8>,
    /// Subject of the question.
    pub reason: PromptReason,
}

/// An entry that is about to be removed.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The directory that contains the entry.
    pub directory: BorrowedFd<'a>,
    /// Name of the entry in that directory.
    pub name: &'a CStr,
    /// Present state of the entry itself; a symbolic link is not followed.
    pub stat: &'a Stat,
    /// Function that builds the path, as the user would type it.
    pub path: &'a dyn Fn() -> Vec<u8>,
}

/// What a run reports while it runs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Report<'a> {
    /// A failure or a warning, once for each.
    Failed(&'a Failure),
    /// What happened to an entry, see [`Detail::Entries`].
    Entry(&'a Event),
    /// The copy method of a file whose bytes are copied, see [`Detail::Moves`].
    Moved(&'a MovedFile),
    /// The digest of a file that has its name.
    Hashed {
        /// Path of the target for messages.
        target: &'a [u8],
        /// Digest of the file's bytes.
        digest: &'a [u8],
    },
    /// At the end of a copy with failures, a name that a later copy of what failed needs, see
    /// [`Detail::KnownNames`].
    KnownName(&'a KnownName),
    /// At the end of a resumed copy that copied no entry, the number of entries that are as an earlier run
    /// of the same command left them. Directories are not counted.
    AllThere(u64),
    /// The states of a file with several names before and after the removal of one name. Made only if the
    /// policy of a removal requires approval.
    Unlinked {
        /// State before the removal.
        before: &'a Stat,
        /// State after the removal.
        after: &'a Stat,
    },
}

/// The reports that a run makes only for a monitor that wants them, because building paths takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// [`Report::Entry`].
    Entries,
    /// [`Report::Moved`].
    Moves,
    /// [`Report::KnownName`].
    KnownNames,
}

/// What a run does only if its monitor agrees.
#[derive(Clone, Copy)]
pub enum Proposal<'a> {
    /// Removing an entry. Made only if the policy of a removal requires approval.
    Remove(&'a Candidate<'a>),
    /// What the user is asked about; the call blocks until there is an answer.
    Ask(&'a Question),
}

/// Receiver of the reports of an operation, and judge of what it proposes. Any worker may call it; questions
/// come one at a time. It must not block for long, and may ignore reports.
///
/// A function of a [`Report`] is a monitor that wants no details.
pub trait Monitor: Sync {
    /// Receives a report.
    fn report(&self, report: Report<'_>);

    /// Returns whether the run should make the reports of this kind.
    fn wants(&self, _detail: Detail) -> bool {
        false
    }

    /// Returns whether the run may do what it proposes. By default entries may be removed, and the answer to
    /// a question is no.
    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        matches!(proposal, Proposal::Remove(_))
    }
}

impl<F: Fn(Report<'_>) + Sync> Monitor for F {
    fn report(&self, report: Report<'_>) {
        self(report);
    }
}

/// Counters of one worker. Padded, so that workers do not share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerCounters {
    /// Regular files created or overwritten.
    pub(crate) files: AtomicU64,
    /// Directories created or merged.
    pub(crate) directories: AtomicU64,
    /// Symbolic links created.
    pub(crate) symlinks: AtomicU64,
    /// Hard links created to files that were copied.
    pub(crate) hard_links: AtomicU64,
    /// FIFOs, sockets and devices created.
    pub(crate) specials: AtomicU64,
    /// Entries left unchanged.
    pub(crate) skipped: AtomicU64,
    /// Entries of the target removed by a synchronisation.
    pub(crate) deleted: AtomicU64,
    /// Entries of the target that stay because the limit on removals is reached.
    pub(crate) not_deleted: AtomicU64,
    /// Bytes copied.
    pub(crate) bytes: AtomicU64,
    /// Residency of the files in the page cache, if requested.
    pub(crate) cached: CachedCounters,
    /// Regular files by copy method.
    pub(crate) methods: [AtomicU64; MethodId::COUNT],
}

impl WorkerCounters {
    /// Adds one to a counter. Only one worker writes to a set, so there is no contention.
    pub(crate) fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Number of sets of counters of a run: one for each worker that a run starts by default if storage
/// is remote. With more workers, two share a set, which costs them contention for a cache line.
const COUNTER_SETS: usize = 32;

/// Sum of all counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files created or overwritten.
    pub files: u64,
    /// Directories created or merged.
    pub directories: u64,
    /// Symbolic links created.
    pub symlinks: u64,
    /// Hard links created to files that were copied.
    pub hard_links: u64,
    /// FIFOs, sockets and devices created.
    pub specials: u64,
    /// Entries left unchanged.
    pub skipped: u64,
    /// Entries of the target removed by a synchronisation, because the source does not have them.
    pub deleted: u64,
    /// Entries of the target that a synchronisation keeps because the limit on removals is reached.
    pub not_deleted: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Residency of the files in the page cache, if requested.
    pub cached: CachedCounts,
    /// What the run's ledger of the page cache has decided.
    pub ledger: LedgerSummary,
    /// Failures.
    pub failures: u64,
    /// Warnings.
    pub warnings: u64,
    /// Workers that were started, the caller's thread included.
    pub workers: u64,
    /// Regular files by copy method.
    pub methods: [u64; MethodId::COUNT],
}

impl Counts {
    /// Returns the number of entries that were created.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.files + self.directories + self.symlinks + self.hard_links + self.specials
    }

    /// Adds the counts of another process. Residency in the page cache is left out: it belongs to one
    /// machine.
    pub fn add(&mut self, other: &Counts) {
        self.files += other.files;
        self.directories += other.directories;
        self.symlinks += other.symlinks;
        self.hard_links += other.hard_links;
        self.specials += other.specials;
        self.skipped += other.skipped;
        self.deleted += other.deleted;
        self.not_deleted += other.not_deleted;
        self.bytes += other.bytes;
        self.failures += other.failures;
        self.warnings += other.warnings;
        self.workers += other.workers;
        for (sum, part) in self.methods.iter_mut().zip(&other.methods) {
            *sum += part;
        }
    }
}

/// Counters and stop flag of a run, for the caller to read and set during the run.
#[derive(Debug)]
pub struct Control<'a> {
    /// Stop flag: the caller sets it to end the run. Every worker obeys within one request. The
    /// flag is borrowed because a signal handler, which can reach only a static, may set it.
    pub stop: &'a AtomicBool,
    pub(crate) counters: Vec<WorkerCounters>,
    pub(crate) failures: AtomicU64,
    pub(crate) warnings: AtomicU64,
    pub(crate) workers: AtomicU64,
    /// Counts of other processes that carry out the run with this one.
    others: Mutex<Counts>,
}

impl<'a> Control<'a> {
    /// Creates the control of one run. Set `stop` to end the run.
    #[must_use]
    pub fn new(stop: &'a AtomicBool) -> Control<'a> {
        Control {
            stop,
            counters: std::iter::repeat_with(WorkerCounters::default).take(COUNTER_SETS).collect(),
            failures: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            workers: AtomicU64::new(1),
            others: Mutex::default(),
        }
    }

    /// Counts a failure that the caller has reported itself.
    pub fn note_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets what other processes have counted so far; [`Control::counts`] includes it from then on.
    pub fn set_others(&self, counts: Counts) {
        *self.others.lock() = counts;
    }

    /// Returns the sums of the counters. Any thread may call it at any time.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = self.own_counts();
        counts.add(&self.others.lock());
        counts
    }

    /// Returns the sums of this process alone.
    #[must_use]
    pub fn own_counts(&self) -> Counts {
        let mut counts = Counts {
            failures: self.failures.load(Ordering::Relaxed),
            warnings: self.warnings.load(Ordering::Relaxed),
            workers: self.workers.load(Ordering::Relaxed),
            ..Counts::default()
        };
        for set in &self.counters {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            counts.files += read(&set.files);
            counts.directories += read(&set.directories);
            counts.symlinks += read(&set.symlinks);
            counts.hard_links += read(&set.hard_links);
            counts.specials += read(&set.specials);
            counts.skipped += read(&set.skipped);
            counts.deleted += read(&set.deleted);
            counts.not_deleted += read(&set.not_deleted);
            counts.bytes += read(&set.bytes);
            set.cached.sum_into(&mut counts.cached);
            for (sum, part) in counts.methods.iter_mut().zip(&set.methods) {
                *sum += read(part);
            }
        }
        counts
    }
}
