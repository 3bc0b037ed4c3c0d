//! `localtime_r` — a moment as a date in the local time zone:
//! <https://man7.org/linux/man-pages/man3/localtime.3.html>

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The year, such as 2026.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day of the month, 1 to 31.
    pub day: u32,
    /// The hour, 0 to 23.
    pub hour: u32,
    /// The minute, 0 to 59.
    pub minute: u32,
    /// The second, 0 to 60.
    pub second: u32,
}

/// The time zone of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// That of the environment (`TZ`, `/etc/localtime`).
    Local,
    /// Coordinated universal time.
    Utc,
}

/// Returns the date of a moment in seconds since 1970, or `None` if its year does not fit an `int`.
#[must_use]
pub fn local_time(seconds: i64, zone: Zone) -> Option<LocalTime> {
    // SAFETY: the functions read a number and fill in the plain structure, for which zeros are a
    // valid value; no other thread of this program changes the environment that `tzset` reads.
    let (date, is_known) = unsafe {
        // localtime_r(3) need not read TZ by itself.
        tzset();
        let mut date: libc::tm = std::mem::zeroed();
        let found = match zone {
            Zone::Local => libc::localtime_r(&raw const seconds, &raw mut date),
            Zone::Utc => libc::gmtime_r(&raw const seconds, &raw mut date),
        };
        (date, !found.is_null())
    };
    let part = |number: i32| u32::try_from(number).unwrap_or(0);
    is_known.then(|| LocalTime {
        year: i64::from(date.tm_year) + 1900,
        month: part(date.tm_mon) + 1,
        day: part(date.tm_mday),
        hour: part(date.tm_hour),
        minute: part(date.tm_min),
        second: part(date.tm_sec),
    })
}

unsafe extern "C" {
    fn tzset();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = local_time(951_782_399, Zone::Utc).unwrap();
        let expected =
            LocalTime { year: 2000, month: 2, day: 28, hour: 23, minute: 59, second: 59 };
        assert_eq!(date, expected);
        assert_eq!(local_time(-1, Zone::Utc).unwrap().year, 1969);
        assert_eq!(local_time(i64::MAX, Zone::Utc), None);
    }
}
