//! Options of the job as a whole, before the command: `--stop-after`, after which the job ends by itself
//! before the end of its allocation, and `--status`, where rank 0 writes what the ranks are doing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

/// Units and their seconds, as in sleep(1).
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Options of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobOptions {
    /// Time after which the job ends.
    pub stop_after: Option<Duration>,
    /// File for the status.
    pub status: Option<OsString>,
}

/// Takes the options from the front of the arguments, each as `--NAME=VALUE` or as two words. The last
/// one of a name counts.
///
/// Fails with a message if a value is missing or cannot be read.
pub fn take(arguments: &[OsString]) -> Result<(JobOptions, &[OsString]), String> {
    let (mut options, mut rest) = (JobOptions::default(), arguments);
    loop {
        if let Some((time, after)) = value(rest, "--stop-after", "a time, such as 3h50m")? {
            let read = time.to_str().and_then(duration);
            let invalid = || {
                let time = time.to_string_lossy();
                format!("invalid time '{}': give a time such as 3h50m", time.escape_debug())
            };
            options.stop_after = Some(read.ok_or_else(invalid)?);
            rest = after;
        } else if let Some((name, after)) = value(rest, "--status", "the name of a file")? {
            options.status = Some(name);
            rest = after;
        } else {
            return Ok((options, rest));
        }
    }
}

/// A value, and the arguments behind it.
type Taken<'a> = Option<(OsString, &'a [OsString])>;

/// Takes the value of an option if the arguments begin with that.
fn value<'a>(arguments: &'a [OsString], option: &str, needs: &str) -> Result<Taken<'a>, String> {
    let Some((first, rest)) = arguments.split_first() else { return Ok(None) };
    let Some(tail) = first.as_bytes().strip_prefix(option.as_bytes()) else { return Ok(None) };
    let (value, rest) = match (tail.strip_prefix(b"="), rest.split_first()) {
        (Some(value), _) => (OsStr::from_bytes(value).to_owned(), rest),
        (None, Some((value, rest))) if tail.is_empty() => (value.clone(), rest),
        // Another option, of which this one's name is the beginning.
        (None, _) if !tail.is_empty() => return Ok(None),
        _ => return Err(format!("{option} needs {needs}")),
    };
    if value.is_empty() {
        return Err(format!("{option} needs {needs}"));
    }
    Ok(Some((value, rest)))
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
    fn the_options_come_before_the_command() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let minute = JobOptions { stop_after: Some(Duration::from_secs(60)), status: None };
        let rm = words(&["rm", "--stop-after=1m"]);
        assert_eq!(take(&rm), Ok((JobOptions::default(), &rm[..])));
        for given in [&["--stop-after=1m", "rm"][..], &["--stop-after", "1m", "rm"]] {
            assert_eq!(take(&words(given)), Ok((minute.clone(), &words(&["rm"])[..])));
        }
        let both = JobOptions { status: Some("f".into()), ..minute };
        let given = words(&["--status", "e", "--stop-after=1m", "--status=f", "cp", "--status=g"]);
        assert_eq!(take(&given), Ok((both, &given[4..])));
        for given in [
            &["--stop-after"][..],
            &["--stop-after=", "rm"],
            &["--stop-after", "", "rm"],
            &["--stop-after=1y", "rm"],
            &["--status"],
            &["--status=", "rm"],
        ] {
            assert!(take(&words(given)).is_err(), "{given:?}");
        }
        // Not ours; the command line is refused where it is read.
        let other = words(&["--stop-afters=1", "rm"]);
        assert_eq!(take(&other), Ok((JobOptions::default(), &other[..])));
    }
}
