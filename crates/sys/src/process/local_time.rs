//! `localtime_r` — a moment in the time zone of the user:
//! <https://man7.org/linux/man-pages/man3/localtime_r.3.html>

/// A moment as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Month, 0 to 11.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
}

/// Converts seconds since 1970 into the time of the zone in `TZ`; `None` where the year does not fit.
#[must_use]
pub fn local_time(seconds: i64) -> Option<LocalTime> {
    // SAFETY: all-zero is a valid `tm`; both pointers are valid through the calls, and no other
    // thread of this program changes the environment.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        // localtime_r(3) need not read TZ by itself.
        tzset();
        let seconds = seconds as libc::time_t;
        if libc::localtime_r(&raw const seconds, &raw mut time).is_null() {
            return None;
        }
        time
    };
    let small = |field: libc::c_int| u8::try_from(field).unwrap_or(0);
    Some(LocalTime {
        month: small(time.tm_mon),
        day: small(time.tm_mday),
        hour: small(time.tm_hour),
        minute: small(time.tm_min),
    })
}

unsafe extern "C" {
    fn tzset();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_later_is_an_hour_later() {
        let (one, two) = (local_time(86_400).unwrap(), local_time(90_000).unwrap());
        assert_eq!((one.hour + 1) % 24, two.hour);
        assert_eq!(one.minute, two.minute);
        assert_eq!(local_time(i64::MAX), None);
    }
}
