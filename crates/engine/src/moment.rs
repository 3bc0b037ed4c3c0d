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
    // A file system cuts off what it does not keep, so that it may have been later by as much.
    let cut_ns: i128 = match time.nanoseconds {
        // Whole seconds, on FAT every other one.
        0 => 2_000_000_000,
        // Hundredths at least: exFAT.
        fraction if fraction % 100 == 0 => 10_000_000,
        _ => 0,
    };
    nanoseconds(time) + cut_ns < nanoseconds(moment)
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
        let moment = at(1_700_000_000, 5);
        for (time, expected) in [
            (at(1_700_000_000, 4), true),
            (at(1_700_000_000, 5), false),
            (at(1_700_000_001, 1), false),
            // FAT writes the second before last for what happens now.
            (at(1_700_000_000, 0), false),
            (at(1_699_999_999, 0), false),
            (at(1_699_999_998, 0), true),
            (at(1_699_999_999, 990_000_100), false),
            (at(1_699_999_999, 990_000_000), true),
            (at(i64::MIN, 0), true),
            (at(i64::MAX, 0), false),
        ] {
            assert_eq!(precedes(time, moment), expected, "{time:?}");
        }
        // Before all times nothing was.
        assert!(!precedes(at(0, 0), Time::default()));
    }
}
