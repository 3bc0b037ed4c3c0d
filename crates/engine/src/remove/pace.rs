//! How fast: at most so many entries a second, and resting where others are to be spared.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::request::{Pace, Strategy};

/// Entries that a worker draws at a time. Drawing costs a lock, which 64 make nothing; and they are
/// gone in half a millisecond, so that the last batch does not drag.
const BATCH: usize = 64;

/// Batches a second under a limit: often enough that a watcher sees an even flow.
const BATCHES_PER_SECOND: u64 = 20;

/// The longest sleep, after which the throttle is looked at.
const NAP: Duration = Duration::from_millis(50);

/// What holds a run back.
pub(super) struct Throttle {
    pace: Pace,
    begun: Instant,
    admitted: AtomicU64,
}

impl Throttle {
    pub(super) fn new(pace: Pace) -> Throttle {
        Throttle { pace, begun: Instant::now(), admitted: AtomicU64::new(0) }
    }

    /// Returns how many entries to draw at a time.
    pub(super) fn batch(&self) -> usize {
        let share = self.pace.per_second.map(|rate| rate.get() / BATCHES_PER_SECOND);
        share.map_or(BATCH, |share| usize::try_from(share).unwrap_or(BATCH).clamp(1, BATCH))
    }

    /// Tells whether only so many entries may go in a second.
    pub(super) fn is_limited(&self) -> bool {
        self.pace.per_second.is_some()
    }

    /// Tells whether work is followed by rest.
    pub(super) fn is_gentle(&self) -> bool {
        self.pace.strategy == Strategy::Gentle
    }

    /// Waits until this many entries more may go.
    pub(super) fn admit(&self, entries: u64, stop: &AtomicBool) {
        let Some(rate) = self.pace.per_second else { return };
        let before = self.admitted.fetch_add(entries, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a delay need not be exact")]
        let due = Duration::from_secs_f64(before as f64 / rate.get() as f64);
        self.wait(due.saturating_sub(self.begun.elapsed()), stop);
    }

    /// After work of this length, leaves the machine to others for as long.
    pub(super) fn rest(&self, worked: Duration, stop: &AtomicBool) {
        if self.is_gentle() {
            self.wait(worked, stop);
        }
    }

    fn wait(&self, time: Duration, stop: &AtomicBool) {
        let end = Instant::now() + time;
        while !stop.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
