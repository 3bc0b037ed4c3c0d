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

/// How many cells a bar has.
const CELLS: usize = 12;

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
    /// Entries that are done and are no directories.
    pub(crate) files: u64,
    /// Bytes and entries of the sources that were counted so far.
    pub(crate) counted: (u64, u64),
    /// Entries of the sources that were counted so far and are no directories.
    pub(crate) counted_files: u64,
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

    /// Returns what a terminal shows, in at most so many columns: what does not fit is left out, the
    /// least important part first.
    pub(crate) fn bar(&self, time: Duration, columns: usize) -> String {
        let mut text = String::new();
        for part in self.parts(time) {
            if text.chars().count() + part.chars().count() > columns {
                break;
            }
            text.push_str(&part);
        }
        if self.is_all && text.chars().count() + CELLS + 3 <= columns {
            let full = u64::try_from(CELLS).unwrap_or(0).saturating_mul(self.position());
            let full = full.checked_div(self.length()).unwrap_or(0);
            let full = usize::try_from(full).unwrap_or(0).min(CELLS);
            text = format!("[{}{}] {text}", "#".repeat(full), "-".repeat(CELLS - full));
        }
        text
    }

    /// Returns what is said of the run, the most important part first, each with what separates it
    /// from the one before.
    fn parts(&self, time: Duration) -> Vec<String> {
        let (position, length) = (self.position(), self.length());
        let done = sizes::grouped(self.files);
        let mut parts = if self.is_all {
            vec![
                format!("{done} of {} files", sizes::grouped(self.counted_files.max(self.files))),
                format!(", {}", sizes::bytes_of(position, length)),
            ]
        } else {
            vec![
                format!("{done} of {}+ files", sizes::grouped(self.counted_files.max(self.files))),
                format!(", {}", sizes::bytes(position)),
            ]
        };
        parts.push(format!(", {}", sizes::rate(position, time)));
        if let Some(left) = self.left(time) {
            parts.push(format!(", {} left", sizes::time_left(left)));
        }
        let behind = self.accepted.saturating_sub(self.stored);
        match self.waits_for {
            WaitsFor::Storage if self.is_all && self.accepted == length => {
                parts.push("; waiting for storage".to_owned());
            }
            // What is stored is known as a lower bound; 0 says nothing.
            WaitsFor::Acceptance if behind >= WORD_BYTES && self.stored > 0 => {
                parts.push(format!("; {} on disk", sizes::bytes(self.stored)));
            }
            WaitsFor::Storage | WaitsFor::Acceptance => {}
        }
        parts
    }

    /// Returns the time that is left, if the run continues at the rate that it had so far.
    fn left(&self, time: Duration) -> Option<Duration> {
        let position = self.position();
        if !self.is_all || position == 0 {
            return None;
        }
        let left = self.length().saturating_sub(position) as f64;
        // A time that no duration can hold is not shown.
        Duration::try_from_secs_f64(time.as_secs_f64() * left / position as f64).ok()
    }

    /// Returns the line that replaces the bar where none can be drawn.
    pub(crate) fn line(&self, time: Duration) -> String {
        self.parts(time).concat()
    }

    /// Returns the line that ends them, when the run is over.
    pub(crate) fn last_line(&self, time: Duration) -> String {
        let files = sizes::counted(self.files, "file", "files");
        let (bytes, rate) = (sizes::bytes(self.accepted), sizes::rate(self.accepted, time));
        format!("{files}, {bytes} in {}, {rate}", sizes::duration(time))
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
        done: 4,
        files: 3,
        counted: (2000 << 20, 8),
        counted_files: 7,
        is_all: true,
        waits_for: WaitsFor::Acceptance,
    };

    const TIME: Duration = Duration::from_secs(10);

    #[test]
    fn a_run_is_measured_by_what_it_waits_for() {
        assert_eq!(HALF.position(), 1000 << 20);
        let durable = Moment { waits_for: WaitsFor::Storage, ..HALF };
        assert_eq!(durable.position(), 400 << 20);
        assert_eq!(durable.line(TIME), "3 of 7 files, 400.0 MiB of 2.0 GiB, 40.0 MiB/s, 40 s left");
    }

    #[test]
    fn a_bar_is_never_full_while_the_run_goes_on() {
        let all = Moment { accepted: 2000 << 20, stored: 2000 << 20, ..HALF };
        assert_eq!(all.position(), (2000 << 20) - 1);
        let durable = Moment { waits_for: WaitsFor::Storage, ..all };
        assert_eq!(durable.position(), (2000 << 20) - 1);
        assert!(durable.line(TIME).ends_with("; waiting for storage"));
        // Sources that grew are more than what was counted.
        let more = Moment { accepted: 3000 << 20, files: 9, ..all };
        assert_eq!((more.length(), more.position()), (3000 << 20, (3000 << 20) - 1));
        assert!(more.line(TIME).starts_with("9 of 9 files"));
        let empty = Moment { accepted: 0, stored: 0, counted: (0, 1), ..HALF };
        assert_eq!((empty.length(), empty.position()), (0, 0));
    }

    #[test]
    fn bars_and_lines_say_the_same_plain_things() {
        let text = "3 of 7 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left; 400.0 MiB on disk";
        assert_eq!(HALF.line(TIME), text);
        assert_eq!(HALF.bar(TIME, 78), text);
        assert_eq!(HALF.bar(TIME, 117), format!("[######------] {text}"));
        assert_eq!(HALF.bar(TIME, 37), "3 of 7 files, 1000.0 MiB of 2.0 GiB");
        let close = Moment { stored: 1000 << 20, files: 12, counted_files: 1024, ..HALF };
        assert_eq!(
            close.bar(TIME, 79),
            "[######------] 12 of 1,024 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left"
        );
        let counting = Moment { is_all: false, ..close };
        assert_eq!(counting.bar(TIME, 77), "12 of 1,024+ files, 1000.0 MiB, 100.0 MiB/s");
        assert_eq!(HALF.last_line(TIME), "3 files, 1000.0 MiB in 10.00 s, 100.0 MiB/s");
    }

    #[test]
    fn a_bar_never_wraps() {
        for bytes in [0, 1, 1 << 30, 900 << 40, u64::MAX] {
            for files in [0, 7, 123_456, u64::MAX] {
                for (is_all, waits_for) in [
                    (true, WaitsFor::Storage),
                    (true, WaitsFor::Acceptance),
                    (false, WaitsFor::Storage),
                ] {
                    let now = Moment {
                        accepted: bytes / 2,
                        stored: bytes / 8,
                        done: files,
                        files: files / 2,
                        counted: (bytes, files),
                        counted_files: files,
                        is_all,
                        waits_for,
                    };
                    for (seconds, columns) in
                        [(0, 1), (0, 77), (1, 77), (86_400 * 365, 77), (86_400 * 365, 117)]
                    {
                        let line = now.bar(Duration::from_secs(seconds), columns);
                        assert!(line.chars().count() <= columns, "{line}");
                        assert!(columns == 1 || !line.is_empty(), "{now:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_little_behind_is_not_worth_a_word() {
        let close = Moment { stored: 990 << 20, ..HALF };
        assert!(!close.line(TIME).contains("on disk"));
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
