//! `--stop-after`: the time after which a job ends by itself, before the end of its allocation.

use std::ffi::OsString;
use std::time::Duration;

/// Units and their seconds, as in sleep(1).
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Takes `--stop-after=TIME` from the front of the arguments, or the two words.
///
/// Fails with a message if the time cannot be read.
pub fn take(arguments: &[OsString]) -> Result<(Option<Duration>, &[OsString]), String> {
    const OPTION: &str = "--stop-after";
    let Some((first, rest)) = arguments.split_first() else { return Ok((None, arguments)) };
    let Some(value) = first.to_str().and_then(|word| word.strip_prefix(OPTION)) else {
        return Ok((None, arguments));
    };
    let (time, rest) = match (value.strip_prefix('='), rest.split_first()) {
        (Some(time), _) => (time.to_owned(), rest),
        (None, Some((time, rest))) if value.is_empty() => {
            (time.to_string_lossy().into_owned(), rest)
        }
        _ => return Err(format!("{OPTION} needs a time, such as 3h50m")),
    };
    match duration(&time) {
        Some(duration) => Ok((Some(duration), rest)),
        None => Err(format!("invalid time '{}': give a time such as 3h50m", time.escape_debug())),
    }
}

/// Reads a time: numbers with units in falling order, or a number of seconds.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds: u64 = 0;
    let mut largest = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit = match tail.chars().next() {
            Some(letter) => UNITS.iter().find(|(name, _)| *name == letter)?.1,
            None if rest.len() == text.len() => 1,
            None => return None,
        };
        if unit >= largest {
            return None;
        }
        largest = unit;
        seconds = number.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(seconds)?;
        rest = tail.get(1..).unwrap_or_default();
    }
    (!text.is_empty()).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        let seconds = |text| duration(text).map(|time| time.as_secs());
        assert_eq!(seconds("3h50m"), Some(13_800));
        assert_eq!(seconds("1d2h3m4s"), Some(93_784));
        assert_eq!(seconds("90"), Some(90));
        assert_eq!(seconds("0s"), Some(0));
        for text in ["", "h", "3x", "3h50", "50m3h", "1h1h", "-1", "1.5h", "99999999999999999d"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn the_option_comes_before_the_command() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let minute = Some(Duration::from_secs(60));
        let rm = words(&["rm", "--stop-after=1m"]);
        assert_eq!(take(&rm), Ok((None, &rm[..])));
        for given in [&["--stop-after=1m", "rm"][..], &["--stop-after", "1m", "rm"]] {
            assert_eq!(take(&words(given)), Ok((minute, &words(&["rm"])[..])));
        }
        for given in [&["--stop-after"][..], &["--stop-after=", "rm"], &["--stop-afters=1", "rm"]] {
            assert!(take(&words(given)).is_err(), "{given:?}");
        }
    }
}
