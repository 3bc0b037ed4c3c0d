//! Whether a file was changed before something began, as far as its times can tell.
//!
//! Who asks is about to believe in a file, or to remove it, unseen. So where the clocks of file systems
//! are too coarse to tell, the answer is no.

use haul_sys::fs::{Time, file_clock};

/// Returns the moment that it is, to be compared with times of files.
pub(crate) fn now() -> Time {
    file_clock()
}

/// Tells whether a file that has this time certainly got it before a moment.
pub(crate) const fn precedes(time: Time, moment: Time) -> bool {
    nanoseconds(time) + cut_ns(time.nanoseconds) < nanoseconds(moment)
}

/// Returns by how much a time may have been later than it says, for a file system cuts off what it does
/// not keep: all behind a decimal place, as far as that can be seen.
const fn cut_ns(fraction: u32) -> i128 {
    if fraction == 0 {
        // Whole seconds, on FAT every other one.
        return 2_000_000_000;
    }
    let mut place = 1;
    while fraction.is_multiple_of(place * 10) {
        place *= 10;
    }
    place as i128 - 1
}

const fn nanoseconds(time: Time) -> i128 {
    time.seconds as i128 * 1_000_000_000 + time.nanoseconds as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: i64, nanoseconds: u32) -> Time {
        Time { seconds, nanoseconds }
    }

    #[test]
    fn what_may_have_been_later_does_not_precede() {
        let moment = at(1_700_000_000, 15_000_050);
        for (time, expected) in [
            (at(1_700_000_000, 15_000_049), true),
            (at(1_700_000_000, 15_000_050), false),
            (at(1_700_000_001, 1), false),
            // FAT writes the second before last for what happens now.
            (at(1_700_000_000, 0), false),
            (at(1_699_999_999, 0), false),
            (at(1_699_999_998, 0), true),
            // exFAT keeps hundredths, NTFS tenths of microseconds.
            (at(1_700_000_000, 10_000_000), false),
            (at(1_699_999_999, 990_000_000), true),
            (at(1_700_000_000, 15_000_000), false),
            (at(1_700_000_000, 14_999_900), true),
            (at(i64::MIN, 0), true),
            (at(i64::MAX, 0), false),
        ] {
            assert_eq!(precedes(time, moment), expected, "{time:?}");
        }
        // Before all times nothing was.
        assert!(!precedes(at(0, 0), Time::default()));
    }
}
