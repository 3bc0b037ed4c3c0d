//! Pace: a token bucket that all workers of a run draw from, so that they share one rate.
//!
//! Bytes are paid for when they have arrived, so a request is never held back half-way; a worker
//! that finds the bucket in debt sleeps until it is not. A request is kept small against the rate, so
//! the debt is a fraction of a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes whose multiples are the lengths and offsets of requests.
pub(crate) const IO_UNIT: usize = 4096;

/// A rate that several workers share.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: u64,
    started: Instant,
    /// Nanoseconds after the start at which everything that was moved so far is paid for.
    paid_until: AtomicU64,
}

/// The longest sleep in one piece, so that a stop is heard.
const NAP: Duration = Duration::from_millis(50);

/// Time that a worker may be ahead before it sleeps: shorter sleeps are less exact than this.
const SLACK: Duration = Duration::from_millis(2);

/// The parts of a second that one request may take of the rate.
const REQUESTS_PER_SECOND: u64 = 16;

/// The smallest request that a slow rate leads to.
const REQUEST_BYTES_MIN: usize = 16 << 10;

impl Pace {
    /// Makes a bucket for a rate in bytes per second, at least 1.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Pace {
        Pace {
            bytes_per_second: bytes_per_second.max(1),
            started: Instant::now(),
            paid_until: AtomicU64::new(0),
        }
    }

    /// Returns the size of a request that would be `bytes` long without a rate.
    #[must_use]
    pub fn request_bytes(&self, bytes: usize) -> usize {
        let share = usize::try_from(self.bytes_per_second / REQUESTS_PER_SECOND).unwrap_or(bytes);
        let units = share.max(REQUEST_BYTES_MIN) / IO_UNIT;
        bytes.min(units * IO_UNIT)
    }

    /// Pays for bytes that were moved. Blocks until they would have been at this rate, or the run
    /// is stopped.
    pub fn pay(&self, bytes: u64, stop: &AtomicBool) {
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX / 4);
        let now = self.now();
        // Time in which no worker moved bytes is lost: a bucket does not overflow into a burst.
        let mut before = self.paid_until.load(Ordering::Relaxed);
        let due = loop {
            let due = before.max(now).saturating_add(cost);
            match self.paid_until.compare_exchange_weak(
                before,
                due,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break due,
                Err(other) => before = other,
            }
        };
        loop {
            let ahead = Duration::from_nanos(due.saturating_sub(self.now()));
            if ahead <= SLACK || stop.load(Ordering::Relaxed) {
                return;
            }
            haul_sys::process::doze(ahead.min(NAP));
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_workers_share_one_rate() {
        let pace = Pace::new(1 << 20);
        let stop = AtomicBool::new(false);
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| pace.pay(32 << 10, &stop));
            }
        });
        // 128 KiB at 1 MiB/s are an eighth of a second.
        assert!(started.elapsed() >= Duration::from_millis(115), "{:?}", started.elapsed());
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let pace = Pace::new(1);
        let started = Instant::now();
        pace.pay(1 << 20, &AtomicBool::new(true));
        assert!(started.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn requests_are_short_against_the_rate() {
        assert_eq!(Pace::new(16 << 20).request_bytes(8 << 20), 1 << 20);
        assert_eq!(Pace::new(1).request_bytes(8 << 20), REQUEST_BYTES_MIN);
    }
}
