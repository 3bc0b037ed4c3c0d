//! The precision of timestamps: whether a file was changed before something began, and which of two files
//! is older, as far as their times can tell.
//!
//! Who asks is about to believe in a file, or to remove it, unseen. So where the clocks of file systems
//! are too coarse to tell, the answer is no.

use std::os::fd::AsFd;

use haul_io::quirk::{Inode, of_magic};
use haul_sys::fs::{Stat, Time, file_clock, fstatfs};

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

/// Returns the step in which a file system keeps times, in nanoseconds, as far as one file's times show it:
/// the smallest power of ten that divides the fractions of all three. A time that was set by a program
/// may end in zeros anywhere, but the kernel sets the ctime, so all three seldom do by chance; and then
/// the step seems too large by a factor of ten. The file system is asked only where no time has a
/// fraction.
pub(crate) fn step_ns(stat: &Stat, directory: impl AsFd) -> i128 {
    let step = shown_step_ns(stat);
    let is_fat = || fstatfs(directory).is_ok_and(|told| of_magic(told.magic).inode == Inode::Fat);
    if step == 1_000_000_000 && is_fat() { 2 * step } else { step }
}

const fn shown_step_ns(stat: &Stat) -> i128 {
    let fractions = [stat.atime.nanoseconds, stat.mtime.nanoseconds, stat.ctime.nanoseconds];
    let mut step: u32 = 1;
    while step < 1_000_000_000
        && fractions[0].is_multiple_of(step * 10)
        && fractions[1].is_multiple_of(step * 10)
        && fractions[2].is_multiple_of(step * 10)
    {
        step *= 10;
    }
    step as i128
}

/// Returns whether a target is older than its source, after the source's time was cut to the step in which
/// the target's file system keeps times: what it could not hold does not make it older.
pub(crate) const fn is_older(target: Time, source: Time, step_ns: i128) -> bool {
    let source = nanoseconds(source);
    nanoseconds(target) < source - source.rem_euclid(step_ns)
}

/// Returns whether a target has its source's time, as far as its file system can hold that.
pub(crate) const fn is_same(target: Time, source: Time, step_ns: i128) -> bool {
    let source = nanoseconds(source);
    nanoseconds(target) == source - source.rem_euclid(step_ns)
}

const fn nanoseconds(time: Time) -> i128 {
    time.seconds as i128 * 1_000_000_000 + time.nanoseconds as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literals::{FILE, stat};

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

    #[test]
    fn a_target_is_older_by_what_its_file_system_can_hold() {
        // Target, source, step, whether the target is older.
        for (target, source, step, expected) in [
            // A time that happens to be a whole second, on a file system that keeps nanoseconds.
            (at(100, 0), at(100, 1), 1, true),
            (at(100, 5), at(100, 5), 1, false),
            (at(100, 6), at(100, 5), 1, false),
            // Whole seconds: the fraction was cut off.
            (at(100, 0), at(100, 999_999_999), 1_000_000_000, false),
            (at(100, 0), at(101, 0), 1_000_000_000, true),
            // FAT: even seconds.
            (at(100, 0), at(101, 999_999_999), 2_000_000_000, false),
            (at(100, 0), at(102, 0), 2_000_000_000, true),
            // NTFS: tenths of microseconds.
            (at(100, 100), at(100, 199), 100, false),
            (at(100, 100), at(100, 200), 100, true),
            // Before 1970 times are cut downwards as well.
            (at(-2, 0), at(-2, 5), 1_000_000_000, false),
        ] {
            assert_eq!(is_older(target, source, step), expected, "{target:?} {source:?} {step}");
        }
    }

    #[test]
    fn the_step_is_what_the_coarsest_time_leaves_open() {
        let showing = |fractions: [u32; 3]| {
            let [atime, mtime, ctime] = fractions.map(|fraction| at(100, fraction));
            Stat { atime, mtime, ctime, ..stat(1, FILE) }
        };
        for (fractions, expected) in [
            ([0, 0, 123_456_789], 1),
            ([0, 0, 0], 1_000_000_000),
            ([0, 500_000_000, 0], 100_000_000),
            ([120_000_000, 0, 30_000_000], 10_000_000),
            ([0, 0, 123_456_700], 100),
        ] {
            assert_eq!(shown_step_ns(&showing(fractions)), expected, "{fractions:?}");
        }
    }
}
