//! Pace of a removal: a limit of entries per second, and whether the removal is gentle, so that large
//! files are freed in steps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::request::{Pace, Strategy};

/// Number of entries that a worker takes at a time. Each time costs a lock, which is negligible
/// for 64 entries. A worker removes 64 in half a millisecond, so the last batch does not delay the
/// end.
const BATCH: usize = 64;

/// Number of batches per second under a limit: often enough for an even flow.
const BATCHES_PER_SECOND: u64 = 20;

/// Longest sleep before the throttle is checked again.
const NAP: Duration = Duration::from_millis(50);

/// Throttle of a run.
pub(super) struct Throttle {
    pace: Pace,
    begun: Instant,
    admitted: AtomicU64,
}

impl Throttle {
    pub(super) fn new(pace: Pace) -> Throttle {
        Throttle { pace, begun: Instant::now(), admitted: AtomicU64::new(0) }
    }

    /// Returns how many entries a worker takes at a time.
    pub(super) fn batch(&self) -> usize {
        let share = self.pace.per_second.map(|rate| rate.get() / BATCHES_PER_SECOND);
        share.map_or(BATCH, |share| usize::try_from(share).unwrap_or(BATCH).clamp(1, BATCH))
    }

    /// Returns whether the number of entries per second is limited.
    pub(super) fn is_limited(&self) -> bool {
        self.pace.per_second.is_some()
    }

    /// Returns whether large files are freed in steps, so that workers can rest between them.
    pub(super) fn is_gentle(&self) -> bool {
        self.pace.strategy == Strategy::Gentle
    }

    /// Waits until the limit allows this many more entries.
    pub(super) fn admit(&self, entries: u64, stop: &AtomicBool) {
        let Some(rate) = self.pace.per_second else { return };
        let before = self.admitted.fetch_add(entries, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a delay need not be exact")]
        let due = Duration::from_secs_f64(before as f64 / rate.get() as f64);
        self.wait(due.saturating_sub(self.begun.elapsed()), stop);
    }

    fn wait(&self, time: Duration, stop: &AtomicBool) {
        let end = Instant::now() + time;
        while !stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            haul_sys::process::doze(left.min(NAP));
        }
    }
}
