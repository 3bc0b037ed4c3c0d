//! One point in time of a copy and its texts: what the kernel accepted, and what is on storage.
//!
//! A copy through the page cache is soon at its end as far as the kernel is concerned, and then
//! waits for the disk, if the command line says so: a bar of accepted bytes would stand at 100 % for most of
//! the time. So a run that waits for storage is measured by what has arrived there.

use std::time::Duration;

use serde_json::json;

use crate::json_line;
use crate::sizes;

/// A smaller lag is not shown: a disk writes it while the line is read.
const WORD_BYTES: u64 = 64 << 20;

/// The most columns of a bar: every terminal has them, and the last one may wrap.
pub(crate) const COLUMNS: usize = 79;

/// What a run waits for before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// That the kernel has the bytes.
    Acceptance,
    /// That storage has them: `--fsync`, `--durable`, a move to another file system.
    Storage,
}

/// What is known of a run at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Bytes that the kernel took.
    pub(crate) accepted: u64,
    /// Bytes of these that are on storage at least.
    pub(crate) stored: u64,
    /// Entries that are done.
    pub(crate) done: u64,
    /// Bytes and entries of the sources that were counted so far.
    pub(crate) counted: (u64, u64),
    /// Whether that is all of them.
    pub(crate) is_all: bool,
    pub(crate) waits_for: WaitsFor,
}

impl Moment {
    /// Returns the bytes that a bar shows as done. They are never all: a run that has nothing left
    /// to do takes its bar away.
    pub(crate) fn position(&self) -> u64 {
        let done = match self.waits_for {
            WaitsFor::Acceptance => self.accepted,
            WaitsFor::Storage => self.stored,
        };
        done.min(self.length().saturating_sub(1))
    }

    /// Returns the bytes that a full bar would be.
    pub(crate) fn length(&self) -> u64 {
        self.counted.0.max(self.accepted)
    }

    /// Returns what stands beside the bar.
    pub(crate) fn message(&self) -> String {
        let (_, entries) = self.counted;
        let entries = if self.is_all {
            format!("{} of {entries} entries", self.done)
        } else {
            format!("{} entries (counting: {entries} so far)", self.done)
        };
        let behind = self.accepted.saturating_sub(self.stored);
        let total = self.is_all.then(|| self.length());
        match self.waits_for {
            WaitsFor::Storage if Some(self.accepted) == total => {
                format!("{entries}, waiting for storage")
            }
            WaitsFor::Storage if behind >= WORD_BYTES => {
                format!("{entries}, {} accepted", sizes::bytes(self.accepted))
            }
            WaitsFor::Acceptance if behind >= WORD_BYTES => {
                format!("{entries}, {} not yet on storage", sizes::bytes(behind))
            }
            WaitsFor::Storage | WaitsFor::Acceptance => entries,
        }
    }

    /// Returns what a terminal shows, in at most [`COLUMNS`] columns: what does not fit is left out,
    /// the least important part first.
    pub(crate) fn bar(&self, time: Duration) -> String {
        const CELLS: u64 = 12;
        let (position, length) = (self.position(), self.length());
        let mut parts = Vec::new();
        if self.is_all {
            parts.push(format!("{} of {} files", grouped(self.done), grouped(self.counted.1)));
            parts.push(sizes::bytes_of(position, length));
        } else {
            parts.push(format!("{} of {}+ files", grouped(self.done), grouped(self.counted.1)));
            parts.push(sizes::bytes(position));
        }
        parts.push(sizes::rate(position, time));
        if let Some(left) = self.left(time) {
            parts.push(format!("{left} left"));
        }
        let behind = self.accepted.saturating_sub(self.stored);
        if self.waits_for == WaitsFor::Acceptance && behind >= WORD_BYTES {
            parts.push(format!("{} on disk", sizes::bytes(self.stored)));
        }
        if self.waits_for == WaitsFor::Storage && self.is_all && self.accepted == length {
            parts.push("waiting for storage".to_owned());
        }
        let mut text = String::new();
        for part in parts {
            let with = if text.is_empty() { part } else { format!("{text}, {part}") };
            if with.chars().count() > COLUMNS {
                break;
            }
            text = with;
        }
        let cells = usize::try_from(CELLS).unwrap_or(0);
        if self.is_all && text.chars().count() + cells + 3 <= COLUMNS {
            let full = (position.saturating_mul(CELLS)).checked_div(length).unwrap_or(0);
            let full = usize::try_from(full).unwrap_or(0).min(cells);
            text = format!("[{}{}] {text}", "#".repeat(full), "-".repeat(cells - full));
        }
        text
    }

    /// Returns the time that is left, if the run continues at the rate that it had so far.
    fn left(&self, time: Duration) -> Option<String> {
        let position = self.position();
        if !self.is_all || position == 0 {
            return None;
        }
        let left = self.length().saturating_sub(position) as f64;
        let left = Duration::try_from_secs_f64(time.as_secs_f64() * left / position as f64).ok()?;
        let seconds = left.as_secs();
        Some(if seconds < 60 { format!("{seconds} s") } else { sizes::duration(left) })
    }

    /// Returns the line that replaces the bar where none can be drawn.
    pub(crate) fn line(&self, time: Duration) -> String {
        let mut text = sizes::bytes(self.position());
        if self.is_all {
            let percent = (self.position() * 100).checked_div(self.length()).unwrap_or(0);
            text.push_str(&format!(" of {} ({percent} %)", sizes::bytes(self.length())));
        }
        format!("{text}  {}  {}", self.message(), sizes::rate(self.position(), time))
    }

    /// Returns the line that ends them, when the run is over.
    pub(crate) fn last_line(&self, time: Duration) -> String {
        let bytes = sizes::bytes(self.accepted);
        let entries = if self.done == 1 { "entry" } else { "entries" };
        format!("{bytes}  {} {entries}  {}", self.done, sizes::rate(self.accepted, time))
    }

    /// Returns the line for programs.
    pub(crate) fn json(&self) -> String {
        json_line::line(json!({
            "event": "progress",
            "accepted_bytes": self.accepted,
            "stored_bytes": self.stored,
            "waits_for_storage": self.waits_for == WaitsFor::Storage,
            "entries": self.done,
            "total_bytes": self.is_all.then(|| self.length()),
            "total_entries": self.is_all.then_some(self.counted.1),
        }))
    }
}

/// Returns a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns what of the accepted bytes is on storage at least, when so many of the whole machine's
/// are not. It never decreases: data of other processes does not count.
pub(crate) fn stored(accepted: u64, unwritten: Option<u64>, before: u64) -> u64 {
    // Unknown: the line claims nothing.
    let behind = unwritten.unwrap_or(u64::MAX);
    accepted.saturating_sub(behind).max(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Moment = Moment {
        accepted: 1000 << 20,
        stored: 400 << 20,
        done: 3,
        counted: (2000 << 20, 7),
        is_all: true,
        waits_for: WaitsFor::Acceptance,
    };

    #[test]
    fn a_run_is_measured_by_what_it_waits_for() {
        assert_eq!(HALF.position(), 1000 << 20);
        assert_eq!(HALF.message(), "3 of 7 entries, 600.0 MiB not yet on storage");
        let durable = Moment { waits_for: WaitsFor::Storage, ..HALF };
        assert_eq!(durable.position(), 400 << 20);
        assert_eq!(durable.message(), "3 of 7 entries, 1000.0 MiB accepted");
    }

    #[test]
    fn a_bar_is_never_full_while_the_run_goes_on() {
        let all = Moment { accepted: 2000 << 20, stored: 2000 << 20, ..HALF };
        assert_eq!(all.position(), (2000 << 20) - 1);
        let durable = Moment { waits_for: WaitsFor::Storage, ..all };
        assert_eq!(durable.position(), (2000 << 20) - 1);
        assert_eq!(durable.message(), "3 of 7 entries, waiting for storage");
        // Sources that grew are more than what was counted.
        let more = Moment { accepted: 3000 << 20, ..all };
        assert_eq!((more.length(), more.position()), (3000 << 20, (3000 << 20) - 1));
        let empty = Moment { accepted: 0, stored: 0, counted: (0, 1), ..HALF };
        assert_eq!((empty.length(), empty.position()), (0, 0));
    }

    #[test]
    fn lines_tell_what_the_bar_would() {
        let time = Duration::from_secs(10);
        assert_eq!(
            HALF.line(time),
            "1000.0 MiB of 2.0 GiB (50 %)  3 of 7 entries, 600.0 MiB not yet on storage  100.0 MiB/s"
        );
        let counting = Moment { is_all: false, stored: 1000 << 20, ..HALF };
        assert_eq!(counting.line(time), "1000.0 MiB  3 entries (counting: 7 so far)  100.0 MiB/s");
        assert_eq!(HALF.last_line(time), "1000.0 MiB  3 entries  100.0 MiB/s");
    }

    #[test]
    fn a_bar_says_plain_things() {
        let time = Duration::from_secs(10);
        assert_eq!(
            HALF.bar(time),
            "3 of 7 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left, 400.0 MiB on disk"
        );
        let close = Moment { stored: 1000 << 20, done: 12, counted: (2000 << 20, 1024), ..HALF };
        assert_eq!(
            close.bar(time),
            "[######------] 12 of 1,024 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left"
        );
        let counting = Moment { is_all: false, ..close };
        assert_eq!(counting.bar(time), "12 of 1,024+ files, 1000.0 MiB, 100.0 MiB/s");
        let durable = Moment { waits_for: WaitsFor::Storage, accepted: 2000 << 20, ..HALF };
        assert!(durable.bar(time).ends_with(", waiting for storage"), "{}", durable.bar(time));
    }

    #[test]
    fn a_bar_never_wraps() {
        for bytes in [0, 1, 1 << 30, 900 << 40, u64::MAX] {
            for entries in [0, 7, 123_456, u64::MAX] {
                for (is_all, waits_for) in [
                    (true, WaitsFor::Storage),
                    (true, WaitsFor::Acceptance),
                    (false, WaitsFor::Storage),
                ] {
                    let counted = (bytes, entries);
                    let (accepted, stored) = (bytes / 2, bytes / 8);
                    let now =
                        Moment { accepted, stored, done: entries / 2, counted, is_all, waits_for };
                    for seconds in [0, 1, 86_400 * 365] {
                        let line = now.bar(Duration::from_secs(seconds));
                        assert!(line.chars().count() <= COLUMNS && !line.is_empty(), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_little_behind_is_not_worth_a_word() {
        let close = Moment { stored: 990 << 20, ..HALF };
        assert_eq!(close.message(), "3 of 7 entries");
        let counting = Moment { is_all: false, ..close };
        assert_eq!(counting.message(), "3 entries (counting: 7 so far)");
    }

    #[test]
    fn programs_get_both_and_no_total_that_is_not_known() {
        let value: serde_json::Value = serde_json::from_str(&HALF.json()).unwrap();
        assert_eq!(value["event"], "progress");
        assert_eq!(value["accepted_bytes"], 1000 << 20);
        assert_eq!(value["stored_bytes"], 400 << 20);
        assert_eq!(value["total_bytes"], 2000 << 20);
        assert_eq!(value["waits_for_storage"], false);
        let counting = Moment { is_all: false, ..HALF };
        let value: serde_json::Value = serde_json::from_str(&counting.json()).unwrap();
        assert!(value["total_bytes"].is_null() && value["total_entries"].is_null());
    }

    #[test]
    fn what_is_stored_is_a_lower_bound_that_never_goes_back() {
        assert_eq!(stored(100, Some(30), 0), 70);
        assert_eq!(stored(100, Some(900), 70), 70);
        assert_eq!(stored(100, None, 0), 0);
        assert_eq!(stored(100, Some(0), 70), 100);
    }
}
