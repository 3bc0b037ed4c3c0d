//! One point in time of a copy and its texts: what the kernel accepted, and what is on storage.
//!
//! A copy through the page cache is soon at its end as far as the kernel is concerned, and then
//! waits for the disk, if the command line says so: a bar of accepted bytes would stand at 100 % for most of
//! the time. So a run that waits for storage is measured by what has arrived there.

use std::time::Duration;

use serde_json::json;

use super::pace::Rates;
use crate::json_line;
use crate::sizes;
use crate::waiting::{Said, Waiting};

/// A smaller lag is not shown: a disk writes it while the line is read.
const WORD_BYTES: u64 = 64 << 20;

/// A bar with fewer cells says nothing.
const CELLS_LEAST: usize = 10;

/// Fewer files in a second are no rate, but large files.
const FILES_WORTH_A_RATE: f64 = 10.0;

/// A part of what is said of a run.
struct Part {
    /// The part with the highest number is left out first.
    rank: u8,
    /// What is between it and the part before.
    separator: &'static str,
    text: String,
}

fn joined(parts: &[Part]) -> String {
    let mut line = String::new();
    for part in parts {
        if !line.is_empty() {
            line.push_str(part.separator);
        }
        line.push_str(&part.text);
    }
    line
}

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
pub(crate) struct Moment<'w> {
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
    /// What is said of waiting.
    pub(crate) said: &'w Said,
}

impl Moment<'_> {
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

    /// Returns what a terminal shows, in at most so many columns. What does not fit is left out, the least important
    /// part first; a bar takes the columns that are left.
    pub(crate) fn bar(&self, rates: Rates, columns: usize) -> String {
        let mut parts = self.parts(rates);
        let text = loop {
            let text = joined(&parts);
            if text.chars().count() <= columns || parts.is_empty() {
                break text;
            }
            let least = parts.iter().enumerate().max_by_key(|(_, part)| part.rank);
            let at = least.map_or(0, |(at, _)| at);
            parts.remove(at);
        };
        let cells = columns.saturating_sub(text.chars().count() + "[] ".len());
        if !self.is_all || text.is_empty() || cells < CELLS_LEAST {
            return text;
        }
        let full = self.position() as f64 / self.length().max(1) as f64 * cells as f64;
        let is_full = |cell: usize| if cell as f64 + 1.0 <= full { '#' } else { '-' };
        format!("[{}] {text}", (0..cells).map(is_full).collect::<String>())
    }

    /// Returns what is said of the run, in the order in which it is shown.
    fn parts(&self, rates: Rates) -> Vec<Part> {
        let (position, length) = (self.position(), self.length());
        let done = sizes::grouped(self.files);
        let counted = sizes::grouped(self.counted_files.max(self.files));
        let (files, bytes) = if self.is_all {
            (format!("{done} of {counted} files"), sizes::bytes_of(position, length))
        } else {
            (format!("{done} of {counted}+ files"), sizes::bytes(position))
        };
        let part = |rank, separator, text| Part { rank, separator, text };
        let mut parts = vec![part(1, "", files), part(2, ", ", bytes)];
        if rates.files >= FILES_WORTH_A_RATE {
            let rate = sizes::per_second(rates.files as u64, Duration::from_secs(1));
            parts.push(part(5, ", ", format!("{rate} files/s")));
        }
        let rate = sizes::rate(rates.bytes as u64, Duration::from_secs(1));
        parts.push(part(3, ", ", rate));
        if let Some(left) = self.left(rates) {
            parts.push(part(0, ", ", format!("{} left", sizes::time_left(left))));
        }
        let behind = self.accepted.saturating_sub(self.stored);
        let mut side = self.said.side;
        match self.waits_for {
            WaitsFor::Storage if self.is_all && self.accepted == length => {
                parts.push(part(4, "; ", "waiting for storage".to_owned()));
                side = None;
            }
            // What is stored is known as a lower bound; 0 says nothing.
            WaitsFor::Acceptance if behind >= WORD_BYTES && self.stored > 0 => {
                parts.push(part(4, "; ", format!("{} on disk", sizes::bytes(self.stored))));
            }
            WaitsFor::Storage | WaitsFor::Acceptance => {}
        }
        parts.extend(side.map(|side| part(6, "; ", side.to_owned())));
        parts.extend(self.said.device.clone().map(|device| part(7, "; ", device)));
        parts
    }

    /// Returns the time that is left at these rates: for the bytes or for the files, whichever takes longer.
    fn left(&self, rates: Rates) -> Option<Duration> {
        if !self.is_all {
            return None;
        }
        let bytes = self.length().saturating_sub(self.position()) as f64;
        let files = self.counted_files.saturating_sub(self.files) as f64;
        let time = |left: f64, rate: f64| if left > 0.0 { left / rate } else { 0.0 };
        let seconds = time(bytes, rates.bytes).max(time(files, rates.files));
        // Nothing was done for some seconds, or the time is one that no duration can hold: it is not known.
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Returns the line that replaces the bar where none can be drawn.
    pub(crate) fn line(&self, rates: Rates) -> String {
        joined(&self.parts(rates))
    }

    /// Returns the line that ends them, when the run is over.
    pub(crate) fn last_line(&self, time: Duration) -> String {
        let files = sizes::counted(self.files, "file", "files");
        let (bytes, rate) = (sizes::bytes(self.accepted), sizes::rate(self.accepted, time));
        format!("{files}, {bytes} in {}, {rate}", sizes::duration(time))
    }

    /// Returns the line for programs, with what was waited for until now.
    pub(crate) fn json(&self, waiting: &Waiting) -> String {
        let mut line = json!({
            "event": "progress",
            "accepted_bytes": self.accepted,
            "stored_bytes": self.stored,
            "waits_for_storage": self.waits_for == WaitsFor::Storage,
            "entries": self.done,
            "total_bytes": self.is_all.then(|| self.length()),
            "total_entries": self.is_all.then_some(self.counted.1),
        });
        waiting.describe(&mut line);
        json_line::line(line)
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

    const HALF: Moment<'_> = Moment {
        accepted: 1000 << 20,
        stored: 400 << 20,
        done: 4,
        files: 3,
        counted: (2000 << 20, 8),
        counted_files: 7,
        is_all: true,
        waits_for: WaitsFor::Acceptance,
        said: &Said::NOTHING,
    };

    const RATES: Rates = Rates { bytes: 100.0 * 1_048_576.0, files: 0.4 };

    #[test]
    fn a_run_is_measured_by_what_it_waits_for() {
        assert_eq!(HALF.position(), 1000 << 20);
        let durable = Moment { waits_for: WaitsFor::Storage, ..HALF };
        assert_eq!(durable.position(), 400 << 20);
        assert_eq!(
            durable.line(RATES),
            "3 of 7 files, 400.0 MiB of 2.0 GiB, 100.0 MiB/s, 16 s left"
        );
    }

    #[test]
    fn a_bar_is_never_full_while_the_run_goes_on() {
        let all = Moment { accepted: 2000 << 20, stored: 2000 << 20, ..HALF };
        assert_eq!(all.position(), (2000 << 20) - 1);
        let durable = Moment { waits_for: WaitsFor::Storage, ..all };
        assert_eq!(durable.position(), (2000 << 20) - 1);
        assert!(durable.line(RATES).ends_with("; waiting for storage"));
        // Sources that grew are more than what was counted.
        let more = Moment { accepted: 3000 << 20, files: 9, ..all };
        assert_eq!((more.length(), more.position()), (3000 << 20, (3000 << 20) - 1));
        assert!(more.line(RATES).starts_with("9 of 9 files"));
        let empty = Moment { accepted: 0, stored: 0, counted: (0, 1), ..HALF };
        assert_eq!((empty.length(), empty.position()), (0, 0));
    }

    #[test]
    fn bars_and_lines_say_the_same_plain_things() {
        let text = "3 of 7 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left; 400.0 MiB on disk";
        assert_eq!(HALF.line(RATES), text);
        assert_eq!(HALF.bar(RATES, 78), text);
        assert_eq!(HALF.bar(RATES, 91), format!("[#####-----] {text}"));
        assert_eq!(HALF.bar(RATES, 117), format!("[##################------------------] {text}"));
        let shorter = "3 of 7 files, 1000.0 MiB of 2.0 GiB, 100.0 MiB/s, 10 s left";
        assert_eq!(HALF.bar(RATES, 60), shorter);
        assert_eq!(HALF.bar(RATES, 50), "3 of 7 files, 1000.0 MiB of 2.0 GiB, 10 s left");
        assert_eq!(HALF.bar(RATES, 35), "3 of 7 files, 10 s left");
        assert_eq!(HALF.bar(RATES, 12), "10 s left");
        let counting =
            Moment { is_all: false, stored: 1000 << 20, files: 12, counted_files: 1024, ..HALF };
        assert_eq!(counting.bar(RATES, 77), "12 of 1,024+ files, 1000.0 MiB, 100.0 MiB/s");
        assert_eq!(
            HALF.last_line(Duration::from_secs(10)),
            "3 files, 1000.0 MiB in 10.00 s, 100.0 MiB/s"
        );
    }

    #[test]
    fn the_time_left_is_that_of_the_files_where_they_take_longer() {
        let small = Moment { files: 1000, counted_files: 5000, ..HALF };
        let rates = Rates { files: 100.0, ..RATES };
        assert!(small.line(rates).contains(", 100 files/s, 100.0 MiB/s, 40 s left"));
        let still = Rates { bytes: 0.0, files: 0.0 };
        assert!(!small.line(still).contains("left"), "it is not known");
    }

    #[test]
    fn the_side_and_the_device_come_last_and_go_first() {
        let said =
            Said { side: Some("waiting for the source"), device: Some("sda 9 % busy".to_owned()) };
        let waiting = Moment { said: &said, ..HALF };
        let line = waiting.line(RATES);
        assert!(line.ends_with(" on disk; waiting for the source; sda 9 % busy"), "{line}");
        let width = line.chars().count();
        assert!(waiting.bar(RATES, width - 1).ends_with("; waiting for the source"));
        assert!(waiting.bar(RATES, width - 20).ends_with(" on disk"));
        let stored = Moment { waits_for: WaitsFor::Storage, accepted: 2000 << 20, ..waiting };
        assert!(stored.line(RATES).ends_with("; waiting for storage; sda 9 % busy"));
    }

    #[test]
    fn a_bar_never_wraps() {
        let said =
            Said { side: Some("waiting for the source"), device: Some("sda 9 % busy".to_owned()) };
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
                        said: &said,
                    };
                    for (rate, columns) in [(0.0, 1), (0.0, 77), (1.0, 77), (1e18, 77), (1e18, 117)]
                    {
                        let line = now.bar(Rates { bytes: rate, files: rate }, columns);
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
        assert!(!close.line(RATES).contains("on disk"));
    }

    #[test]
    fn programs_get_both_and_no_total_that_is_not_known() {
        let value: serde_json::Value =
            serde_json::from_str(&HALF.json(&Waiting::default())).unwrap();
        assert_eq!(value["event"], "progress");
        assert_eq!(value["accepted_bytes"], 1000 << 20);
        assert_eq!(value["stored_bytes"], 400 << 20);
        assert_eq!(value["total_bytes"], 2000 << 20);
        assert_eq!(value["waits_for_storage"], false);
        let counting = Moment { is_all: false, ..HALF };
        let value: serde_json::Value =
            serde_json::from_str(&counting.json(&Waiting::default())).unwrap();
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
