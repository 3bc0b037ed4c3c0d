//! Whether others are at work, as far as the times of a run's own requests tell: for a kernel that does not say it.
//!
//! Only requests to files count, by the caller's choice: a run that waits for a pipe waits for the program at its
//! other end, which is no reason to rest. Times are those of a byte. Small requests take longer for each byte than
//! large ones, so a run that comes to requests of another size looks for its best time anew, unless it is
//! the rest for others that has made them smaller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Requests in a second from which on their time is judged.
const REQUESTS_JUDGED: f64 = 8.0;

/// How many times as long as at best a byte takes where others are at work.
const SLOWER: f64 = 2.0;

/// How many times as large as before requests are that are others.
const OTHER_SIZE: f64 = 2.0;

/// Part by which the best time grows each second, so that a run whose later files are slower finds its new best.
const FORGET: f64 = 1.1;

/// The requests of a period that are over.
#[derive(Debug, Default)]
pub(super) struct Requests {
    count: AtomicU64,
    bytes: AtomicU64,
    took_ns: AtomicU64,
}

impl Requests {
    /// Makes a request that moves as many bytes as `bytes_of` tells from its answer. One that moves none is not
    /// counted: it has met the end of a file, or an error.
    pub(super) fn measure<T>(
        &self,
        request: impl FnOnce() -> T,
        bytes_of: impl FnOnce(&T) -> usize,
    ) -> T {
        let begun = Instant::now();
        let answer = request();
        self.add(bytes_of(&answer) as u64, begun.elapsed());
        answer
    }

    pub(super) fn add(&self, bytes: u64, took: Duration) {
        if bytes > 0 {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.took_ns.fetch_add(super::nanoseconds(took), Ordering::Relaxed);
        }
    }
}

/// Mean size of requests.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: f64,
    /// The same in a run that does not rest.
    whole_bytes: f64,
}

impl Size {
    /// Returns whether neither equal requests nor the rest for others explains both sizes.
    fn is_other(self, before: Size) -> bool {
        let is_other = |one: f64, other: f64| one.max(other) > one.min(other) * OTHER_SIZE;
        is_other(self.bytes, before.bytes) && is_other(self.whole_bytes, before.whole_bytes)
    }
}

/// The best time of requests of one size.
#[derive(Debug)]
pub(super) struct Best {
    seconds_per_byte: f64,
    /// Size of the requests; `None` before the first ones.
    size: Option<Size>,
}

impl Best {
    /// No request is over yet.
    pub(super) const NONE: Best = Best { seconds_per_byte: f64::INFINITY, size: None };

    /// Returns for which part of the time others were at work, from the requests since the last call. `share` is the
    /// part of the time in which the run has worked.
    pub(super) fn others(&mut self, requests: &Requests, share: f64) -> f64 {
        let (count, bytes) = (take(&requests.count), take(&requests.bytes));
        let seconds = take(&requests.took_ns) / 1e9;
        if count < REQUESTS_JUDGED {
            return 0.0;
        }
        let (now, size) = (seconds / bytes, bytes / count);
        let size = Size { bytes: size, whole_bytes: size / share };
        match self.size {
            Some(before) if !size.is_other(before) => {
                self.seconds_per_byte = (self.seconds_per_byte * FORGET).min(now);
            }
            _ => *self = Best { seconds_per_byte: now, size: Some(size) },
        }
        if now >= self.seconds_per_byte * SLOWER { 1.0 - self.seconds_per_byte / now } else { 0.0 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean need not be exact")]
fn take(sum: &AtomicU64) -> f64 {
    sum.swap(0, Ordering::Relaxed) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    /// Judges requests of one size, each of which takes so many milliseconds.
    fn judged(best: &mut Best, (bytes, ms): (u64, u64), share: f64) -> f64 {
        let requests = Requests::default();
        (0..20).for_each(|_| requests.add(bytes, Duration::from_millis(ms)));
        best.others(&requests, share)
    }

    #[test]
    fn requests_of_another_size_are_not_slower_ones() {
        let mut best = Best::NONE;
        assert_eq!(judged(&mut best, (1024 * KIB, 10), 1.0), 0.0);
        // Four times as long for each byte, because a request takes some time for itself.
        assert_eq!(judged(&mut best, (128 * KIB, 5), 1.0), 0.0);
        let others = judged(&mut best, (128 * KIB, 20), 1.0);
        assert!((0.7..0.8).contains(&others), "{others}");
        assert_eq!(judged(&mut best, (1024 * KIB, 10), 1.0), 0.0);
    }

    #[test]
    fn requests_that_a_rest_has_made_smaller_are_the_same_ones() {
        let mut best = Best::NONE;
        assert_eq!(judged(&mut best, (1024 * KIB, 8), 1.0), 0.0);
        let others = judged(&mut best, (256 * KIB, 8), 0.25);
        assert!((0.7..0.8).contains(&others), "{others}");
        // Small files have requests of their own size, whatever the share is.
        let mut best = Best::NONE;
        assert_eq!(judged(&mut best, (4 * KIB, 1), 1.0), 0.0);
        let others = judged(&mut best, (4 * KIB, 4), 0.25);
        assert!((0.7..0.8).contains(&others), "{others}");
    }

    #[test]
    fn only_what_moves_bytes_counts() {
        let (requests, mut best) = (Requests::default(), Best::NONE);
        for answer in [Ok(0), Err(())].repeat(20) {
            assert_eq!(requests.measure(|| answer, |answer| answer.unwrap_or(0)), answer);
        }
        assert_eq!(requests.count.load(Ordering::Relaxed), 0);
        assert_eq!(requests.measure(|| 5, |answer| *answer), 5);
        let sums = (&requests.count, &requests.bytes);
        assert_eq!((sums.0.load(Ordering::Relaxed), sums.1.load(Ordering::Relaxed)), (1, 5));
        assert_eq!(best.others(&requests, 1.0), 0.0, "too few to tell");
        assert_eq!(requests.count.load(Ordering::Relaxed), 0);
    }
}
