//! Interface to the caller: the stop flag and the counts of a move.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::data::monitor;

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
