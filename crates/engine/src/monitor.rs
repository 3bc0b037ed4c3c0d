//! The seam outwards: what the engine reports while it runs, and how it is told to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_io::MethodId;
use haul_sys::fs::Kind;

use crate::cached::{CachedCounts, CachedShard};
use crate::error::Failure;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is being made from the source.
    Copied,
    /// It is a leading directory of an operand, and was made for its sake.
    Parent,
    /// It is made as another name of a file that was copied before.
    Linked,
    /// It was removed to make room.
    Removed,
    /// It was left as it is.
    Skipped,
}

/// Something that happened to one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What became of it.
    pub outcome: Outcome,
    /// Its kind.
    pub kind: Kind,
    /// The source's path for people.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
    /// The path that what was there before has now.
    pub backup: Option<Vec<u8>>,
}

/// A file whose bytes were moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedFile {
    /// The source's path for people.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
    /// How.
    pub moved: haul_io::Moved,
}

/// A file that is complete, and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedFile {
    /// The target's path for people.
    pub target: Vec<u8>,
    /// The digest of its bytes.
    pub digest: Vec<u8>,
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The target that would be overwritten.
    pub target: Vec<u8>,
    /// Its permission bits, where it could not be written to as it is.
    pub unwritable_mode: Option<u32>,
}

/// Hears what happens. Called by any worker; must not block for long, and need not hear entries.
pub trait Monitor: Sync {
    /// Hears of a failure. Called once for each.
    fn failed(&self, failure: &Failure);

    /// Tells whether [`Monitor::entry`] wants to be called, for building paths costs time.
    fn wants_entries(&self) -> bool {
        false
    }

    /// Hears of an entry.
    fn entry(&self, _event: &Event) {}

    /// Tells whether [`Monitor::moved`] wants to be called.
    fn wants_moves(&self) -> bool {
        false
    }

    /// Hears how the bytes of a file were moved, once they are.
    fn moved(&self, _moved: &MovedFile) {}

    /// Hears the digest of a file, once it has its name.
    fn hashed(&self, _hashed: &HashedFile) {}

    /// Asks a person; `true` is yes. Blocks until there is an answer.
    fn ask(&self, _question: &Question) -> bool {
        false
    }
}

/// What one worker has done so far. Padded, so that workers do not share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Shard {
    /// Regular files made or overwritten.
    pub files: AtomicU64,
    /// Directories made or merged.
    pub directories: AtomicU64,
    /// Symbolic links made.
    pub symlinks: AtomicU64,
    /// Further names made of files that were copied.
    pub hard_links: AtomicU64,
    /// FIFOs, sockets and devices made.
    pub specials: AtomicU64,
    /// Entries left as they are.
    pub skipped: AtomicU64,
    /// Bytes that arrived.
    pub bytes: AtomicU64,
    /// What was cached of the files, where that was asked for.
    pub cached: CachedShard,
    /// Regular files by the method that moved them.
    pub methods: [AtomicU64; MethodId::COUNT],
}

impl Shard {
    /// Adds one to a counter. Only its worker writes a shard, so there is no contention.
    pub(crate) fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counters of a run: one for each worker that a run starts by default where storage is remote. Where there
/// are more workers, two add to the same counters, which costs them a cache line.
const SHARDS: usize = 32;

/// The sum of all shards at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files made or overwritten.
    pub files: u64,
    /// Directories made or merged.
    pub directories: u64,
    /// Symbolic links made.
    pub symlinks: u64,
    /// Further names made of files that were copied.
    pub hard_links: u64,
    /// FIFOs, sockets and devices made.
    pub specials: u64,
    /// Entries left as they are.
    pub skipped: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// What was cached of the files, where that was asked for.
    pub cached: CachedCounts,
    /// Failures.
    pub failures: u64,
    /// Warnings.
    pub warnings: u64,
    /// Workers that were started, the caller's thread included.
    pub workers: u64,
    /// Regular files by the method that moved them.
    pub methods: [u64; MethodId::COUNT],
}

impl Counts {
    /// Returns the number of entries that were made.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.files + self.directories + self.symlinks + self.hard_links + self.specials
    }
}

/// Counters and stop flag of a run, for the caller to read and set while the run goes on.
#[derive(Debug)]
pub struct Control<'a> {
    /// Set it to end the run; heard within one request. Borrowed, for what sets it may be a signal
    /// handler, which can only reach a static.
    pub stop: &'a AtomicBool,
    pub(crate) shards: Vec<Shard>,
    pub(crate) failures: AtomicU64,
    pub(crate) warnings: AtomicU64,
    pub(crate) workers: AtomicU64,
}

impl<'a> Control<'a> {
    /// Makes a control for one run. Set `stop` to end it.
    #[must_use]
    pub fn new(stop: &'a AtomicBool) -> Control<'a> {
        Control {
            stop,
            shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect(),
            failures: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            workers: AtomicU64::new(1),
        }
    }

    /// Sums up the counters; at any time, from any thread.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            failures: self.failures.load(Ordering::Relaxed),
            warnings: self.warnings.load(Ordering::Relaxed),
            workers: self.workers.load(Ordering::Relaxed),
            ..Counts::default()
        };
        for shard in &self.shards {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            counts.files += read(&shard.files);
            counts.directories += read(&shard.directories);
            counts.symlinks += read(&shard.symlinks);
            counts.hard_links += read(&shard.hard_links);
            counts.specials += read(&shard.specials);
            counts.skipped += read(&shard.skipped);
            counts.bytes += read(&shard.bytes);
            shard.cached.sum_into(&mut counts.cached);
            for (sum, part) in counts.methods.iter_mut().zip(&shard.methods) {
                *sum += read(part);
            }
        }
        counts
    }
}
