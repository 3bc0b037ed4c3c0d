//! Residency of a run's files in the page cache, before and after the copy: measured and added up.

use std::sync::atomic::{AtomicU64, Ordering};

use haul_io::Residency;

/// Sums of one worker.
#[derive(Debug, Default)]
pub(crate) struct CachedCounters {
    source_before: AtomicU64,
    target_before: AtomicU64,
    source_after: AtomicU64,
    target_after: AtomicU64,
    measured: AtomicU64,
    sampled: AtomicU64,
    untold: AtomicU64,
}

/// Sums of all workers, in bytes of whole pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedCounts {
    /// Cached bytes of the sources, before their first byte was copied.
    pub source_before: u64,
    /// Cached bytes of the targets, before their first byte was copied.
    pub target_before: u64,
    /// Cached bytes of the sources, after their last byte was copied.
    pub source_after: u64,
    /// Cached bytes of the targets, after their last byte was copied.
    pub target_after: u64,
    /// Number of files with all four values known, including those that a sample represents.
    pub measured: u64,
    /// Number of those files that a sample represents: small ones, from the second thousand on.
    pub sampled: u64,
    /// Number of files whose residency the kernel does not report, because they belong to another
    /// user.
    pub untold: u64,
}

impl CachedCounters {
    /// Adds one file.
    pub(crate) fn add(&self, residency: &Residency) {
        let Residency { before, after, files } = residency;
        let add = |sum: &AtomicU64, bytes: u64| {
            sum.fetch_add(bytes * files, Ordering::Relaxed);
        };
        if *files > 1 {
            add(&self.sampled, 1);
        }
        let all = (before.source, before.target, after.source, after.target);
        if let (Some(one), Some(two), Some(three), Some(four)) = all {
            add(&self.source_before, one);
            add(&self.target_before, two);
            add(&self.source_after, three);
            add(&self.target_after, four);
            add(&self.measured, 1);
        } else {
            add(&self.untold, 1);
        }
    }

    /// Adds the sums of this worker to those of the run.
    pub(crate) fn sum_into(&self, counts: &mut CachedCounts) {
        let read = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        counts.source_before += read(&self.source_before);
        counts.target_before += read(&self.target_before);
        counts.source_after += read(&self.source_after);
        counts.target_after += read(&self.target_after);
        counts.measured += read(&self.measured);
        counts.sampled += read(&self.sampled);
        counts.untold += read(&self.untold);
    }
}
