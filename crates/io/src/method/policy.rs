//! What the caller wants done with the bytes of a file: plain data.

use crate::cache::ledger::Ledger;
use crate::method::id::MethodId;
use crate::system::pace::IO_UNIT;

/// Whether blocks may be shared with the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reflink {
    /// Where the file system can, else the bytes are copied.
    #[default]
    Auto,
    /// Or else the copy fails.
    Always,
    /// Never; nor may the kernel do so behind `copy_file_range`.
    Never,
}

/// What becomes of holes and of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sparse {
    /// The source's holes stay holes.
    #[default]
    Auto,
    /// Runs of zeros become holes as well.
    Always,
    /// The target has no holes.
    Never,
}

/// What becomes of the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cache {
    /// Kept while the run pushes out little of what others use; then past it. The policy's
    /// [ledger](DataPolicy::ledger) decides.
    #[default]
    Auto,
    /// Used as every program uses it.
    Keep,
    /// Nothing of the source or the target stays in it.
    Drop,
    /// Direct I/O; where that is not possible it is said so, and the pages are dropped.
    Direct,
    /// What was cached before stays, what was not goes again.
    Restore,
}

/// Which method moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// The first that fits.
    #[default]
    Auto,
    /// This method, or none.
    Only(MethodId),
}

/// What was measured to be better than the ladder's own order, for files of some sizes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Preference {
    /// The smallest file that this is about; it holds up to the next preference's.
    pub from_bytes: u64,
    /// Methods, the best first; empty for the ladder's own order.
    pub methods: Vec<MethodId>,
}

/// How much is found out for reports, for it costs calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tell {
    /// Nothing.
    #[default]
    Nothing,
    /// How much of each file is cached before and after.
    Residency,
    /// That, and why each method was or was not used.
    Everything,
}

/// The policy for the bytes of each file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DataPolicy {
    /// Whether blocks may be shared.
    pub reflink: Reflink,
    /// What becomes of holes.
    pub sparse: Sparse,
    /// Which method moves the bytes.
    pub choice: Choice,
    /// What to try first where [`Choice::Auto`] is left to choose, by rising size. It is advice:
    /// sharing blocks still comes before it, what becomes of the page cache is not changed by it,
    /// and what does not fit or is refused is passed over.
    pub preferences: Vec<Preference>,
    /// What becomes of the page cache.
    pub cache: Cache,
    /// The run's account of the page cache, which [`Cache::Auto`] asks.
    pub ledger: Ledger,
    /// Bytes of one request, a multiple of [`DataPolicy::IO_UNIT`]; `None` is what is best for
    /// each method.
    pub io_bytes: Option<usize>,
    /// Requests in flight of the methods that have a queue.
    pub queue_depth: Option<usize>,
    /// Bytes of memory that each worker's buffers may take; `None` is what the method wants.
    pub worker_bytes: Option<usize>,
    /// What is found out for reports.
    pub tell: Tell,
}

impl DataPolicy {
    /// What is best where nothing else was asked for, for files that no run accounts for.
    pub const PLAIN: DataPolicy = DataPolicy {
        reflink: Reflink::Auto,
        sparse: Sparse::Auto,
        choice: Choice::Auto,
        preferences: Vec::new(),
        cache: Cache::Auto,
        ledger: Ledger::UNBOUNDED,
        io_bytes: None,
        queue_depth: None,
        worker_bytes: None,
        tell: Tell::Nothing,
    };

    /// Returns [`DataPolicy::PLAIN`] with a ledger of its own: the policy of a new run.
    #[must_use]
    pub fn of_run() -> DataPolicy {
        DataPolicy { ledger: Ledger::of_run(), ..DataPolicy::PLAIN }
    }

    /// What the size of a request is a multiple of: what direct I/O on every common device is
    /// aligned to.
    pub const IO_UNIT: usize = IO_UNIT;

    /// The largest request: the kernel cuts longer ones at 2 GiB, and a buffer of this size is
    /// what a worker may well have.
    pub const IO_BYTES_MAX: usize = 256 << 20;

    /// The deepest queue: more than any device or server answers at once.
    pub const QUEUE_DEPTH_MAX: usize = 1024;

    /// Returns the methods to try first for a file of this size.
    #[must_use]
    pub fn preferred(&self, file_bytes: u64) -> &[MethodId] {
        if self.choice != Choice::Auto {
            return &[];
        }
        let of_size = self.preferences.iter().rev().find(|one| one.from_bytes <= file_bytes);
        of_size.map_or(&[], |one| &one.methods)
    }

    /// Returns whether neither the user nor a profile says how a file of this size is moved.
    #[must_use]
    pub fn takes_any_method(&self, file_bytes: u64) -> bool {
        self.choice == Choice::Auto && self.preferred(file_bytes).is_empty()
    }

    /// Returns the size of one request for a method that would choose `usual` by itself.
    #[must_use]
    pub fn request_bytes(&self, usual: usize) -> usize {
        let wanted = self.io_bytes.unwrap_or(usual);
        let most = self.worker_bytes.unwrap_or(usize::MAX).min(DataPolicy::IO_BYTES_MAX);
        let units = wanted.min(most) / DataPolicy::IO_UNIT;
        units.max(1) * DataPolicy::IO_UNIT
    }

    /// Returns the number of requests of this size in flight for a method that would choose
    /// `usual` by itself, within `most_bytes` of buffers.
    #[must_use]
    pub fn depth(&self, usual: usize, request_bytes: usize, most_bytes: usize) -> usize {
        let most = self.worker_bytes.unwrap_or(usize::MAX).min(most_bytes);
        let wanted = self.queue_depth.unwrap_or(usual).min(DataPolicy::QUEUE_DEPTH_MAX);
        wanted.min(most / request_bytes.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_units_within_memory() {
        let mut policy = DataPolicy::PLAIN;
        assert_eq!(policy.request_bytes(256 << 10), 256 << 10);
        policy.io_bytes = Some(10_000);
        assert_eq!(policy.request_bytes(256 << 10), 8192);
        policy.worker_bytes = Some(5000);
        assert_eq!(policy.request_bytes(256 << 10), 4096);
        assert_eq!(policy.depth(8, 4096, 1 << 30), 1);
    }

    #[test]
    fn preferences_go_by_size_and_only_where_nothing_was_asked_for() {
        let of = |from_bytes, method| Preference { from_bytes, methods: vec![method] };
        let mut policy = DataPolicy {
            preferences: vec![of(10, MethodId::Sendfile), of(100, MethodId::Splice)],
            ..DataPolicy::PLAIN
        };
        assert_eq!(policy.preferred(9), []);
        assert_eq!(policy.preferred(10), [MethodId::Sendfile]);
        assert_eq!(policy.preferred(u64::MAX), [MethodId::Splice]);
        policy.choice = Choice::Only(MethodId::CopyRange);
        assert_eq!(policy.preferred(10), []);
    }

    #[test]
    fn depth_is_bounded_by_the_buffers() {
        let policy = DataPolicy { queue_depth: Some(64), ..DataPolicy::PLAIN };
        assert_eq!(policy.depth(8, 1 << 20, 16 << 20), 16);
    }
}
