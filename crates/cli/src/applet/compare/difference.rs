//! A difference as a line for people: times as dates.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use haul_manifest::{Difference, Timestamp, What};
use haul_sys::process::{Zone, local_time};

use crate::escape::quote;
use crate::option::color::Paint;

/// Returns the line of a difference between two trees, which have the names that the user gave, with
/// the times of files in a time zone. The name stands out.
pub(super) fn line(
    difference: &Difference,
    (a, b): (&Path, &Path),
    zone: Zone,
    paint: Paint,
) -> String {
    let [a_name, b_name] = [a, b].map(|tree| quote(tree.as_os_str().as_bytes()));
    let what = match &difference.what {
        What::Mtime { a, b } => format!(
            "modification time {} in {a_name}, {} in {b_name}",
            date(*a, zone),
            date(*b, zone)
        ),
        other => other.text(&a_name, &b_name),
    };
    let line = difference.line(&what);
    match line.strip_suffix(&what) {
        Some(name) => paint.bold(name) + &what,
        None => line,
    }
}

/// Returns a time to the nanosecond, because differences may be that small.
fn date(time: Timestamp, zone: Zone) -> String {
    match local_time(time.seconds, zone) {
        Some(date) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}",
            date.year, date.month, date.day, date.hour, date.minute, date.second, time.nanoseconds
        ),
        // A year beyond all calendars.
        None => time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let time = |seconds, nanoseconds| Timestamp { seconds, nanoseconds };
        assert_eq!(date(time(951_782_399, 5), Zone::Utc), "2000-02-28 23:59:59.000000005");
        assert_eq!(date(time(-1, 0), Zone::Utc), "1969-12-31 23:59:59.000000000");
        let far = time(i64::MAX, 0);
        assert_eq!(date(far, Zone::Utc), far.to_string());
    }
}
