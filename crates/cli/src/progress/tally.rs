//! What a stream has moved and which side it waited for; the line of progress of `read` and `write`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haul_io::stream::Side;

use crate::metrics::{Figures, Waits};
use crate::sizes;

/// What a stream has done so far; shared with the thread that shows it.
#[derive(Debug)]
pub(crate) struct Tally {
    begun: Instant,
    bytes: AtomicU64,
    /// 0 is unknown.
    total: AtomicU64,
    waited_in: AtomicU64,
    waited_out: AtomicU64,
    shown_in: AtomicU64,
    shown_out: AtomicU64,
    /// When the wait that is going on began, in nanoseconds from the beginning on; 0 is none. A long
    /// wait is shown while it lasts.
    since_in: AtomicU64,
    since_out: AtomicU64,
}

impl Tally {
    pub(crate) fn new(total: Option<u64>) -> Tally {
        Tally {
            begun: Instant::now(),
            bytes: AtomicU64::new(0),
            total: AtomicU64::new(total.unwrap_or(0)),
            waited_in: AtomicU64::new(0),
            waited_out: AtomicU64::new(0),
            shown_in: AtomicU64::new(0),
            shown_out: AtomicU64::new(0),
            since_in: AtomicU64::new(0),
            since_out: AtomicU64::new(0),
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    pub(crate) fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the time that a call took as waiting for a side.
    pub(crate) fn waiting<T>(&self, side: Side, call: impl FnOnce() -> T) -> T {
        let (waited, since) = match side {
            Side::Source => (&self.waited_in, &self.since_in),
            Side::Target => (&self.waited_out, &self.since_out),
        };
        let begun = self.now_ns();
        since.store(begun, Ordering::Relaxed);
        let answer = call();
        since.store(0, Ordering::Relaxed);
        waited.fetch_add(self.now_ns() - begun, Ordering::Relaxed);
        answer
    }

    /// Counts time as waiting for a side.
    pub(crate) fn waited(&self, side: Side, time: Duration) {
        let waited = match side {
            Side::Source => &self.waited_in,
            Side::Target => &self.waited_out,
        };
        waited.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns how many bytes were moved so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns how long input and output were waited for, in nanoseconds.
    pub(crate) fn waits(&self) -> (u64, u64) {
        (self.waited_in.load(Ordering::Relaxed), self.waited_out.load(Ordering::Relaxed))
    }

    /// Returns the figures of a stream that has ended.
    pub(crate) fn figures(&self) -> Figures {
        let (source, target) = self.waits();
        let (source, target) = (Duration::from_nanos(source), Duration::from_nanos(target));
        let waits = Waits { source, target, both: None };
        Figures {
            time: self.begun.elapsed(),
            bytes: self.bytes(),
            waits: Some(waits),
            ..Figures::default()
        }
    }

    /// Returns the text of `--stats`: `names` are those of the input and of the output.
    pub(crate) fn stats(&self, (input, output): (&str, &str)) -> String {
        let (bytes, time) = (self.bytes(), self.begun.elapsed());
        let (source, target) = self.waits();
        let waited = |nanoseconds: u64| sizes::duration(Duration::from_nanos(nanoseconds));
        format!(
            "bytes:   {} in {}, {}\nwaited:  {} for {input}, {} for {output}\n",
            sizes::bytes(bytes),
            sizes::duration(time),
            sizes::rate(bytes, time),
            waited(source),
            waited(target),
        )
    }

    /// Returns the line of progress. `(full, empty)` says what it means when the output, and the
    /// input, is waited for.
    pub(crate) fn line(&self, (full, empty): (&str, &str)) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let time = self.begun.elapsed();
        let mut text = match total {
            0 => sizes::bytes(bytes),
            total => sizes::bytes_of(bytes, total),
        };
        text.push_str(&format!(", {}", sizes::rate(bytes, time)));
        if total > bytes && bytes > 0 {
            let left = time.as_secs_f64() * (total - bytes) as f64 / bytes as f64;
            let left = Duration::try_from_secs_f64(left.ceil()).unwrap_or_default();
            text.push_str(&format!(", {} left", sizes::time_left(left)));
        }
        let waited = |waited: &AtomicU64, since: &AtomicU64, shown: &AtomicU64| {
            let going_on = match since.load(Ordering::Relaxed) {
                0 => 0,
                since => self.now_ns().saturating_sub(since),
            };
            let all = waited.load(Ordering::Relaxed) + going_on;
            // Between the two loads a wait may have ended, and then it counts the next time.
            all.saturating_sub(shown.swap(all, Ordering::Relaxed))
        };
        let inward = waited(&self.waited_in, &self.since_in, &self.shown_in);
        let outward = waited(&self.waited_out, &self.since_out, &self.shown_out);
        match outward.cmp(&inward) {
            std::cmp::Ordering::Greater => text.push_str(&format!(", {full}")),
            std::cmp::Ordering::Less => text.push_str(&format!(", {empty}")),
            std::cmp::Ordering::Equal => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_side_that_is_waited_for() {
        let tally = Tally::new(Some(4096));
        tally.moved(1024);
        tally.waiting(Side::Target, || std::thread::sleep(Duration::from_millis(2)));
        let line = tally.line(("full", "empty"));
        assert!(line.starts_with("1.0 of 4.0 KiB, "), "{line}");
        assert!(line.ends_with(", full"), "{line}");
        tally.waiting(Side::Source, || std::thread::sleep(Duration::from_millis(2)));
        assert!(tally.line(("full", "empty")).ends_with(", empty"));
    }

    #[test]
    fn a_wait_is_shown_while_it_lasts() {
        let tally = Tally::new(None);
        tally.waiting(Side::Source, || {
            let line = tally.line(("full", "empty"));
            assert!(line.ends_with(", empty"), "{line}");
        });
    }
}
