//! Times on the command line.

use std::os::unix::fs::MetadataExt as _;

use haul_archive::format::Moment;

use super::refuse::bad;
use crate::date;
use crate::ending::CommandError;
use crate::file_error::describe;

/// Reads a time: a date as GNU's programs read dates, local or of a named zone, `@SECONDS`, or the name of a file that
/// has it.
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
    match date::parse(text) {
        Some((seconds, nanoseconds)) => Ok(Moment { seconds, nanoseconds }),
        None => bad(&format!(
            "the time '{text}' is not a date; use @SECONDS, 'YYYY-MM-DD HH:MM:SS UTC', '2 days ago' or \
             the name of a file that begins with '/' or '.'"
        )),
    }
}

/// Reads seconds since 1970 with a fraction.
pub(super) fn since_1970(text: &str) -> Option<Moment> {
    date::since_1970(text).map(|(seconds, nanoseconds)| Moment { seconds, nanoseconds })
}

/// Writes a time as extended headers have it.
pub(super) fn text(moment: Moment) -> String {
    let fraction = match moment.nanoseconds {
        0 => String::new(),
        nanoseconds => format!(".{nanoseconds:09}").trim_end_matches('0').to_owned(),
    };
    format!("{}{fraction}", moment.seconds)
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
        assert_eq!(seconds("1970/1/2 0:0:0 UTC"), Some(86_400));
        assert_eq!(seconds("2001-02-03 04:05:06 UTC 2 days ago"), Some(981_000_306));
        assert_eq!(seconds("Sat, 03 Feb 2001 04:05:06 +0100"), Some(981_169_506));
        let half = time("@-1.5").ok();
        assert_eq!(half, Some(Moment { seconds: -2, nanoseconds: 500_000_000 }));
        for text in ["@", "@x", "2023-02-29Z", "some time", "2000-13-01Z", "", " "] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn relative_times_begin_now() {
        let ago = |text: &str| {
            let then = time(text).ok().unwrap();
            Moment::now().since(then).unwrap().seconds
        };
        let day = 86_400;
        // Summer time may begin or end on the way.
        assert!((day - 3600..=day + 3700).contains(&ago("yesterday")), "{}", ago("yesterday"));
        assert!((2 * day - 3600..=2 * day + 3700).contains(&ago("2 days ago")));
        assert!((7200..7300).contains(&ago("2 hours ago")));
    }
}
