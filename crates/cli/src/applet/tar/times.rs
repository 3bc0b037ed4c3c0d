//! Times on the command line.

use std::os::unix::fs::MetadataExt as _;

use haul_archive::format::Moment;
use haul_sys::process::{Zone, local_time};

use super::refuse::bad;
use crate::ending::CommandError;
use crate::file_error::describe;

/// Reads a time: `@SECONDS`, `YYYY-MM-DD[ HH:MM[:SS]]`, local or in UTC, or the name of a file that has it.
pub(super) fn time(text: &str) -> Result<Moment, CommandError> {
    if text.starts_with(['/', '.']) {
        return match std::fs::metadata(text) {
            Ok(found) => Ok(Moment {
                seconds: found.mtime(),
                nanoseconds: u32::try_from(found.mtime_nsec()).unwrap_or(0),
            }),
            Err(error) => {
                Err(CommandError::Plain(format!("{text}: Cannot stat: {}", describe(&error))))
            }
        };
    }
    let found = text.strip_prefix('@').map_or_else(|| date(text), since_1970);
    match found {
        Some(moment) => Ok(moment),
        None => bad(&format!(
            "the time '{text}' is not supported by haul; use @SECONDS, 'YYYY-MM-DD HH:MM:SS UTC' or \
             the name of a file that begins with '/' or '.'"
        )),
    }
}

/// Reads seconds since 1970 with a fraction.
pub(super) fn since_1970(text: &str) -> Option<Moment> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit()) && fraction.len() <= 9;
    let seconds: i64 = whole.parse().ok().filter(|_| is_number)?;
    let nanoseconds: u32 = format!("{fraction:0<9}").parse().ok()?;
    // A negative time with a fraction counts from the second below.
    if seconds < 0 && nanoseconds > 0 {
        return None;
    }
    Some(Moment { seconds, nanoseconds })
}

/// Writes a time as extended headers have it.
pub(super) fn text(moment: Moment) -> String {
    let fraction = match moment.nanoseconds {
        0 => String::new(),
        nanoseconds => format!(".{nanoseconds:09}").trim_end_matches('0').to_owned(),
    };
    format!("{}{fraction}", moment.seconds)
}

/// Reads a date in UTC, if it says so, or in the local time zone.
fn date(text: &str) -> Option<Moment> {
    let in_utc = text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC"));
    let text = in_utc.unwrap_or(text);
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, separator: char| -> Option<Vec<i64>> {
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        text.split(separator).map(|part| part.parse().ok().filter(|_| is_digits(part))).collect()
    };
    let day = numbers(day, '-')?;
    let clock = numbers(clock, ':')?;
    let [year @ 1970..=9999, month @ 1..=12, day @ 1..=31] = *day.as_slice() else { return None };
    let (hour, minute, second) = match *clock.as_slice() {
        [hour @ 0..=23, minute @ 0..=59] => (hour, minute, 0),
        [hour @ 0..=23, minute @ 0..=59, second @ 0..=59] => (hour, minute, second),
        _ => return None,
    };
    let wanted = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    // The 31st of a shorter month is another day.
    if i64::from(local_time(wanted, Zone::Utc)?.day) != day {
        return None;
    }
    let seconds = if in_utc.is_some() { wanted } else { local(wanted)? };
    Some(Moment { seconds, nanoseconds: 0 })
}

/// Returns the date of a moment, as if it were in UTC.
fn shown(seconds: i64, zone: Zone) -> Option<i64> {
    let date = local_time(seconds, zone)?;
    let days = days_since_1970(date.year, i64::from(date.month), i64::from(date.day));
    let clock = i64::from(date.hour) * 3600 + i64::from(date.minute) * 60 + i64::from(date.second);
    Some(days * 86_400 + clock)
}

/// Returns the moment at which a clock of the local time zone shows a date; `None` in the hour that
/// summer time leaves out.
fn local(wanted: i64) -> Option<i64> {
    let mut seconds = wanted;
    // The second step is for a change of the offset between the two.
    for _ in 0..2 {
        seconds += wanted - shown(seconds, Zone::Local)?;
    }
    (shown(seconds, Zone::Local)? == wanted).then_some(seconds)
}

/// Counts days in the Gregorian calendar, with years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = (153 * month + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_refused() {
        let seconds = |text: &str| time(text).ok().map(|moment| moment.seconds);
        assert_eq!(seconds("@0"), Some(0));
        assert_eq!(seconds("@1700000000.25"), Some(1_700_000_000));
        assert_eq!(seconds("@-5"), Some(-5));
        assert_eq!(seconds("2000-02-28 23:59:59 UTC"), Some(951_782_399));
        assert_eq!(seconds("1970-01-01Z"), Some(0));
        assert_eq!(seconds("2024-02-29T12:00Z"), Some(1_709_208_000));
        let local = seconds("2000-06-01 12:00").unwrap();
        assert_eq!(shown(local, Zone::Local), seconds("2000-06-01 12:00Z"));
        for text in ["@", "@x", "2023-02-29Z", "yesterday", "2000-13-01Z", "@-1.5"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
