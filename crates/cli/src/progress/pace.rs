//! How fast a run is now: over its last seconds, not since its start.

use std::collections::VecDeque;
use std::time::Duration;

/// The seconds that a rate is taken over: long enough for a device that writes in bursts.
const WINDOW: Duration = Duration::from_secs(10);

/// A pause between two samples that is this much longer than it should be was no time of the run: the process was
/// stopped, or the machine slept. A busy machine may delay a sample.
const STOPPED: Duration = Duration::from_secs(2);

/// What a run does in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) bytes: f64,
    pub(crate) files: f64,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Time that the run had until then, without that in which it was stopped.
    time: Duration,
    bytes: u64,
    files: u64,
}

/// Samples of the last seconds.
#[derive(Debug)]
pub(crate) struct Pace {
    samples: VecDeque<Sample>,
}

impl Pace {
    /// Begins with nothing done.
    pub(crate) fn new() -> Pace {
        Pace { samples: VecDeque::from([Sample { time: Duration::ZERO, bytes: 0, files: 0 }]) }
    }

    /// Takes what was done in all until now, and returns the rates. `since` is the time since the last sample, and
    /// `expected` what it would be if the process was not stopped.
    pub(crate) fn add(
        &mut self,
        since: Duration,
        expected: Duration,
        bytes: u64,
        files: u64,
    ) -> Rates {
        let before = self.samples.back().map_or(Duration::ZERO, |sample| sample.time);
        let time = before + if since > expected + STOPPED { expected } else { since };
        self.samples.push_back(Sample { time, bytes, files });
        // The oldest that is kept is the first one outside, so that the window is always full.
        while self.samples.get(1).is_some_and(|second| time - second.time >= WINDOW) {
            self.samples.pop_front();
        }
        let Some(first) = self.samples.front() else { return Rates::default() };
        let seconds = (time - first.time).as_secs_f64();
        if seconds < 1e-6 {
            return Rates::default();
        }
        Rates {
            bytes: bytes.saturating_sub(first.bytes) as f64 / seconds,
            files: files.saturating_sub(first.files) as f64 / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let mut pace = Pace::new();
        for second in 1..=100 {
            let rates = pace.add(SECOND, SECOND, second * 1000, second);
            assert_eq!(rates, Rates { bytes: 1000.0, files: 1.0 });
        }
        let slower: Vec<f64> =
            (1..=10).map(|_| pace.add(SECOND, SECOND, 100_000, 100).bytes).collect();
        assert_eq!(slower.last(), Some(&0.0), "{slower:?}");
        assert!(slower.is_sorted_by(|one, next| one > next), "{slower:?}");
    }

    #[test]
    fn the_time_of_a_stopped_process_does_not_count() {
        let mut pace = Pace::new();
        pace.add(SECOND, SECOND, 1000, 0);
        let rates = pace.add(SECOND * 3600, SECOND, 2000, 0);
        assert_eq!(rates.bytes, 1000.0);
    }
}
