//! Dates on the command line, as GNU's programs read them.

use parse_datetime::ParsedDateTime;

/// Reads a date, local or of a named zone, or `@SECONDS`: seconds since 1970, and nanoseconds. The text of no
/// date would be the present, and is probably an empty variable.
pub(crate) fn parse(text: &str) -> Option<(i64, u32)> {
    const SECOND: i128 = 1_000_000_000;
    if text.trim().is_empty() {
        return None;
    }
    if let Some(number) = text.strip_prefix('@') {
        return since_1970(number).or_else(|| date(text, SECOND));
    }
    date(text, SECOND)
}

fn date(text: &str, second: i128) -> Option<(i64, u32)> {
    let Ok(ParsedDateTime::InRange(found)) = parse_datetime::parse_datetime(text) else {
        return None;
    };
    let nanoseconds = found.timestamp().as_nanosecond();
    let seconds = i64::try_from(nanoseconds.div_euclid(second)).ok()?;
    Some((seconds, u32::try_from(nanoseconds.rem_euclid(second)).ok()?))
}

/// Reads seconds since 1970 with a fraction.
pub(crate) fn since_1970(text: &str) -> Option<(i64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit()) && fraction.len() <= 9;
    let seconds: i64 = whole.parse().ok().filter(|_| is_number)?;
    let nanoseconds: u32 = format!("{fraction:0<9}").parse().ok()?;
    // A negative time with a fraction counts from the second below.
    if seconds < 0 && nanoseconds > 0 {
        return None;
    }
    Some((seconds, nanoseconds))
}
