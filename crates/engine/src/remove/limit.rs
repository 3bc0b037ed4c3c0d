//! Limit on the number of removed entries, and which entries count.

use std::sync::atomic::{AtomicU64, Ordering};

/// Limit on the number of entries that several runs remove together.
#[derive(Debug)]
pub(crate) struct Limit {
    left: AtomicU64,
    refused: AtomicU64,
}

impl Limit {
    pub(crate) fn new(most: u64) -> Limit {
        Limit { left: AtomicU64::new(most), refused: AtomicU64::new(0) }
    }

    /// Returns whether one more entry may be removed, and counts it.
    pub(super) fn take(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let may = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        if !may {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Returns the number of entries that stay because the limit was reached. Directories that contain them are not
    /// counted.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Whether the named entries themselves are reported and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// They are, and what is in them.
    All,
    /// Only what is in them is: they make way for other entries.
    Contents,
}
