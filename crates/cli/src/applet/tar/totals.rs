//! `--totals`: how many bytes of the archive were read or written, and how fast.

use std::time::Instant;

use super::session::Session;
use super::settings::Settings;

/// Bytes of a record, in which GNU tar reads.
const RECORD_BYTES: u64 = 20 * 512;

/// Prints how much of an archive was read, up to its end or to the last member that was wanted.
pub(super) fn read(session: &Session, settings: &Settings, offset: u64) {
    if settings.shows_totals {
        print(session, "read", offset.next_multiple_of(RECORD_BYTES), session.begin);
    }
}

/// Prints the totals, as GNU tar does.
pub(super) fn print(session: &Session, what: &str, bytes: u64, begin: Instant) {
    let text = format!("Total bytes {what}: {}\n", amount(bytes, begin));
    session.aside(|| session.output.raw_error(&text));
}

/// Returns a number of bytes and the speed since the run began.
pub(super) fn amount(bytes: u64, begin: Instant) -> String {
    let millionths = begin.elapsed().as_micros().max(1);
    let rate = u128::from(bytes) * 1_000_000 / millionths;
    let rate = u64::try_from(rate).unwrap_or(u64::MAX);
    format!("{bytes} ({}, {}/s)", human(bytes), human(rate))
}

/// Writes a number of bytes with two digits or more and a unit, rounded up.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut unit_bytes: u64 = 1;
    for unit in UNITS {
        unit_bytes <<= 10;
        let tenths = (u128::from(bytes) * 10).div_ceil(u128::from(unit_bytes));
        if tenths < 100 {
            return format!("{}.{}{unit}", tenths / 10, tenths % 10);
        }
        let whole = bytes.div_ceil(unit_bytes);
        if whole < 1024 {
            return format!("{whole}{unit}");
        }
    }
    "?".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_gnu() {
        for (bytes, expected) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KiB"),
            (1025, "1.1KiB"),
            (10240, "10KiB"),
            (10241, "11KiB"),
            (1024 * 1024 - 1, "1.0MiB"),
            (7_924_664_320, "7.4GiB"),
            (u64::MAX, "16EiB"),
        ] {
            assert_eq!(human(bytes), expected);
        }
    }
}
