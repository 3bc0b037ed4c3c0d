//! The values of sync's options.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haul_engine::select::parse_size;

use crate::escape::quote_word;
use crate::getopt::Usage;

/// Reads the value of `--bwlimit` in bytes per second, as rsync does: a number alone counts KiB, and 0 sets no limit.
pub(super) fn rate(word: &OsStr) -> Result<Option<u64>, Usage> {
    let bytes = word.as_bytes();
    let is_number = bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let rate = if is_number { parse_size(&[bytes, b"K"].concat()) } else { parse_size(bytes) };
    match rate {
        Some(rate) => Ok(Some(rate).filter(|rate| *rate > 0)),
        None => Err(Usage(format!(
            "invalid --bwlimit {}: give KiB a second, or a size, as in 50M or 1.5MB",
            quote_word(bytes)
        ))),
    }
}

/// Reads the value of `--modify-window` in seconds.
pub(super) fn window(word: &OsStr) -> Result<i64, Usage> {
    match word.to_str().and_then(|text| text.parse().ok()) {
        Some(seconds @ 0..) => Ok(seconds),
        // With -1, rsync compares nanoseconds, which haul does as far as both file systems store them.
        Some(-1) => Ok(0),
        _ => Err(Usage(format!(
            "invalid --modify-window {}: give a number of seconds",
            quote_word(word.as_bytes())
        ))),
    }
}

/// Reads the value of `--stop-after` in minutes, and returns the moment.
pub(super) fn after_minutes(word: &OsStr) -> Result<SystemTime, Usage> {
    let minutes = word.to_str().and_then(|text| text.parse::<u32>().ok());
    let minutes = minutes.filter(|minutes| *minutes > 0);
    let moment = minutes.and_then(|it| SystemTime::now().checked_add(Duration::from_secs(60) * it));
    moment.ok_or_else(|| {
        Usage(format!(
            "invalid --stop-after {}: give a number of minutes",
            quote_word(word.as_bytes())
        ))
    })
}

/// Reads the value of `--stop-at`, and returns the moment, which is in the future.
pub(super) fn at_moment(word: &OsStr) -> Result<SystemTime, Usage> {
    let since = word.to_str().and_then(crate::date::parse);
    let moment = since.and_then(|(seconds, nanoseconds)| {
        UNIX_EPOCH.checked_add(Duration::new(u64::try_from(seconds).ok()?, nanoseconds))
    });
    let moment = moment.filter(|moment| *moment > SystemTime::now());
    moment.ok_or_else(|| {
        Usage(format!(
            "invalid --stop-at {}: give a moment in the future, as in 2030-12-31T23:59",
            quote_word(word.as_bytes())
        ))
    })
}

/// Reads the value of `--max-delete`.
pub(super) fn count(word: &OsStr) -> Result<u64, Usage> {
    word.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Usage(format!(
            "invalid --max-delete {}: give a number of entries",
            quote_word(word.as_bytes())
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_without_a_unit_counts_kib() {
        let rate = |word: &str| rate(OsStr::new(word)).ok();
        assert_eq!(rate("1000"), Some(Some(1000 << 10)));
        assert_eq!(rate("1.5"), Some(Some(1536)));
        assert_eq!(rate("2m"), Some(Some(2 << 20)));
        assert_eq!(rate("1MB"), Some(Some(1_000_000)));
        assert_eq!(rate("0"), Some(None));
        for word in ["", "fast", "1X", "-1"] {
            assert_eq!(rate(word), None, "{word}");
        }
    }

    #[test]
    fn numbers_are_read_whole() {
        assert_eq!(window(OsStr::new("2")).ok(), Some(2));
        assert_eq!(window(OsStr::new("-1")).ok(), Some(0));
        assert!(window(OsStr::new("-2")).is_err());
        assert_eq!(count(OsStr::new("0")).ok(), Some(0));
        assert!(count(OsStr::new("-1")).is_err());
    }
}
