//! The report of `dd`: records, bytes, rates, in GNU's words.

use std::io::Write as _;
use std::time::Instant;

use haul_io::record::Counts;
use haul_start::{Standard, was_closed};

use super::operands::Status;

/// Writes reports and messages on standard error, each on a line of its own.
#[derive(Debug)]
pub(super) struct Teller {
    status: Status,
    begun: Instant,
    /// Characters of the line of progress that stands there.
    progress_length: usize,
    /// Seconds after the beginning at which the next line of progress is due.
    next: u64,
    reported_bytes: Option<u64>,
    /// Whether a message could not be written.
    pub(super) is_mute: bool,
}

impl Teller {
    pub(super) fn new(status: Status) -> Teller {
        Teller {
            status,
            begun: Instant::now(),
            progress_length: 0,
            next: 1,
            reported_bytes: None,
            is_mute: false,
        }
    }

    /// Starts the clock.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
    }

    pub(super) fn status(&self) -> Status {
        self.status
    }

    fn put(&mut self, text: &str) {
        let is_closed = was_closed(Standard::Error);
        self.is_mute |= is_closed || std::io::stderr().write_all(text.as_bytes()).is_err();
    }

    fn end_progress(&mut self) {
        if std::mem::take(&mut self.progress_length) > 0 {
            self.put("\n");
        }
    }

    /// Prints a message.
    pub(super) fn say(&mut self, text: &str) {
        self.end_progress();
        self.put(&format!("dd: {text}\n"));
    }

    /// Prints a line of progress when one is due.
    pub(super) fn progress(&mut self, counts: &Counts) {
        if self.status == Status::Progress && self.begun.elapsed().as_secs() >= self.next {
            self.next = self.begun.elapsed().as_secs() + 1;
            self.progress_now(counts);
        }
    }

    /// Prints a last line of progress before something that may take long.
    pub(super) fn progress_before_sync(&mut self, counts: &Counts) {
        let is_old = self.reported_bytes.is_some_and(|told| told < counts.bytes);
        if self.status == Status::Progress && is_old {
            self.end_progress();
            let line = self.transfer(counts, &format_general(self.begun.elapsed().as_secs_f64()));
            self.put(&format!("{line}\n"));
        }
    }

    fn progress_now(&mut self, counts: &Counts) {
        let seconds = format!("{:.0}", self.begun.elapsed().as_secs_f64());
        let line = self.transfer(counts, &seconds);
        let pad = self.progress_length.saturating_sub(line.len());
        self.put(&format!("\r{line}{:pad$}", ""));
        self.progress_length = line.len();
    }

    /// Prints the report.
    pub(super) fn report(&mut self, counts: &Counts) {
        if self.status == Status::None {
            return;
        }
        self.end_progress();
        let mut text = format!(
            "{}+{} records in\n{}+{} records out\n",
            counts.read_full, counts.read_partial, counts.written_full, counts.written_partial
        );
        match counts.truncated {
            0 => {}
            1 => text.push_str("1 truncated record\n"),
            count => text.push_str(&format!("{count} truncated records\n")),
        }
        if self.status != Status::NoTransfer {
            let seconds = format_general(self.begun.elapsed().as_secs_f64());
            text.push_str(&format!("{}\n", self.transfer(counts, &seconds)));
        }
        self.put(&text);
    }

    fn transfer(&mut self, counts: &Counts, seconds: &str) -> String {
        let bytes = counts.bytes;
        self.reported_bytes = Some(bytes);
        let nanoseconds = self.begun.elapsed().as_nanos();
        let rate = match nanoseconds {
            0 => "Infinity B".to_owned(),
            time => human(u128::from(bytes) * 1_000_000_000, time, Units::Si),
        };
        let (si, iec) = (human(bytes.into(), 1, Units::Si), human(bytes.into(), 1, Units::Iec));
        let noun = if bytes == 1 { "byte" } else { "bytes" };
        let amounts = if si.ends_with(" B") {
            String::new()
        } else if iec.ends_with(" B") {
            format!(" ({si})")
        } else {
            format!(" ({si}, {iec})")
        };
        format!("{bytes} {noun}{amounts} copied, {seconds} s, {rate}/s")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    Si,
    Iec,
}

/// Formats a quotient with a unit: one decimal below ten, rounded to the nearest, halves to even.
pub(super) fn human(amount: u128, per: u128, units: Units) -> String {
    let (base, suffixes): (u128, [&str; 9]) = match units {
        Units::Si => (1000, ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]),
        Units::Iec => (1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]),
    };
    let mut power = 0;
    let mut per = per;
    while power + 1 < suffixes.len() && amount >= per.saturating_mul(base) {
        per *= base;
        power += 1;
    }
    let whole = rounded(amount, per);
    if power > 0 && power + 1 < suffixes.len() && whole >= base {
        let suffix = suffixes.get(power + 1).copied().unwrap_or("");
        return format!("1.0 {suffix}");
    }
    let suffix = suffixes.get(power).copied().unwrap_or("");
    let tenths = rounded(amount * 10, per);
    if power > 0 && tenths < 100 {
        return format!("{}.{} {suffix}", tenths / 10, tenths % 10);
    }
    format!("{whole} {suffix}")
}

fn rounded(amount: u128, per: u128) -> u128 {
    let (whole, rest) = (amount / per, amount % per);
    match (rest * 2).cmp(&per) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Equal => whole + whole % 2,
        std::cmp::Ordering::Greater => whole + 1,
    }
}

/// Formats a number as C's `%g`: six digits, no zeros at the end, an exponent where it is short.
fn format_general(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| -> String {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return trimmed(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_look_as_gnus_do() {
        let si = |amount| human(amount, 1, Units::Si);
        assert_eq!(si(0), "0 B");
        assert_eq!(si(999), "999 B");
        assert_eq!(si(1000), "1.0 kB");
        assert_eq!(si(1050), "1.0 kB");
        assert_eq!(si(1150), "1.2 kB");
        assert_eq!(si(9_960), "10 kB");
        assert_eq!(si(999_900), "1.0 MB");
        assert_eq!(si(1_073_741_824), "1.1 GB");
        assert_eq!(human(1_073_741_824, 1, Units::Iec), "1.0 GiB");
        assert_eq!(human(10 << 20, 1, Units::Iec), "10 MiB");
        assert_eq!(human(3, 2, Units::Si), "2 B");
    }

    #[test]
    fn seconds_look_as_c_prints_them() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.001_234_567, "0.00123457"),
            (0.000_01, "1e-05"),
            (12.5, "12.5"),
            (1_234_567.0, "1.23457e+06"),
            (99_999.96, "100000"),
        ] {
            assert_eq!(format_general(number), text);
        }
    }
}
