//! Precision of timestamps: whether a file changed before a given moment, and which of two files
//! is older, as far as their times show it.
//!
//! The caller is about to trust a file, or to remove it, without reading it. So if the clocks of
//! file systems are too coarse, the answer is no.

use std::os::fd::AsFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haul_io::quirk::{Inode, of_magic};
use haul_sys::fs::{Stat, Time, file_clock, fstatfs};
use haul_sys::process::doze;

/// Returns the present time, for comparison with times of files.
pub(crate) fn now() -> Time {
    file_clock()
}

/// Returns the present time with the precision of the clock. A time that a file got before is not
/// later, even where the kernel gives files more precise times than [`now`].
pub(crate) fn precise_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Time { seconds, nanoseconds: since.subsec_nanos() }
}

/// Returns whether a file that has this time certainly got it before a moment.
pub(crate) const fn precedes(time: Time, moment: Time) -> bool {
    nanoseconds(time) + (truncated_ns(time) as i128) < nanoseconds(moment)
}

/// Returns the maximum difference between the real time and a stored one, in nanoseconds. A file
/// system truncates times to a decimal place; the zeros at the end of the fraction show which.
const fn truncated_ns(time: Time) -> u64 {
    if time.nanoseconds == 0 {
        // Whole seconds; FAT stores even seconds only.
        return 2_000_000_000;
    }
    let mut place = 1;
    while time.nanoseconds.is_multiple_of(place * 10) {
        place *= 10;
    }
    place as u64 - 1
}

/// Blocks until every file that is changed from then on gets a later time than a present moment, also if
/// its file system truncates times as this sample shows. The kernel's clock for files advances in ticks of
/// 1 to 10 ms. If the clock is set back meanwhile, the function returns anyway.
pub(crate) fn wait_for_times_after(moment: Time, sample: Time) {
    let truncated_ns = truncated_ns(sample);
    let tick = Duration::from_millis(10);
    let last = Instant::now() + Duration::from_nanos(truncated_ns) + 2 * tick;
    let limit = nanoseconds(moment) + i128::from(truncated_ns);
    while nanoseconds(now()) <= limit && Instant::now() < last {
        let left = limit - nanoseconds(now());
        let left = Duration::from_nanos(u64::try_from(left).unwrap_or(0));
        doze(left.clamp(Duration::from_millis(1), tick));
    }
}

/// Returns the precision of a file system's timestamps, in nanoseconds, as far as one file's times
/// show it: the smallest power of ten that divides the fractions of all three times. A time that a
/// program has set may end in any number of zeros. But the kernel sets the ctime, so all three
/// rarely end in zeros by chance; the result then is too large by a factor of ten. The file system
/// is queried only if no time has a fraction.
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

/// Returns whether a target is older than its source. The source's time is truncated to the
/// precision of the target's file system first, because the lost fraction does not make the target
/// older.
pub(crate) const fn is_older(target: Time, source: Time, step_ns: i128) -> bool {
    let source = nanoseconds(source);
    nanoseconds(target) < source - source.rem_euclid(step_ns)
}

/// Returns whether a target has its source's time, within the precision of its file system.
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
    use crate::data::literals::{FILE, stat};

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
            // FAT may store an even second before the present one.
            (at(1_700_000_000, 0), false),
            (at(1_699_999_999, 0), false),
            (at(1_699_999_998, 0), true),
            // exFAT stores hundredths of seconds, NTFS tenths of microseconds.
            (at(1_700_000_000, 10_000_000), false),
            (at(1_699_999_999, 990_000_000), true),
            (at(1_700_000_000, 15_000_000), false),
            (at(1_700_000_000, 14_999_900), true),
            (at(i64::MIN, 0), true),
            (at(i64::MAX, 0), false),
        ] {
            assert_eq!(precedes(time, moment), expected, "{time:?}");
        }
        // No time precedes the earliest one.
        assert!(!precedes(at(0, 0), Time::default()));
    }

    #[test]
    fn after_the_wait_files_get_later_times() {
        for (fraction, truncated_ns) in [(1, 0), (100, 99), (100_000_000, 99_999_999)] {
            let moment = precise_now();
            wait_for_times_after(moment, at(1_700_000_000, fraction));
            assert!(nanoseconds(now()) > nanoseconds(moment) + truncated_ns, "{fraction}");
        }
        // The clock was set back by a year: the wait ends all the same.
        let now = precise_now();
        let year = 31_536_000;
        wait_for_times_after(Time { seconds: now.seconds + year, ..now }, at(1, 1));
    }

    #[test]
    fn a_target_is_older_by_what_its_file_system_can_hold() {
        // Target, source, step, whether the target is older.
        for (target, source, step, expected) in [
            // The target's time is a whole second by chance, on a file system that stores
            // nanoseconds.
            (at(100, 0), at(100, 1), 1, true),
            (at(100, 5), at(100, 5), 1, false),
            (at(100, 6), at(100, 5), 1, false),
            // Whole seconds: the fraction was truncated.
            (at(100, 0), at(100, 999_999_999), 1_000_000_000, false),
            (at(100, 0), at(101, 0), 1_000_000_000, true),
            // FAT: even seconds.
            (at(100, 0), at(101, 999_999_999), 2_000_000_000, false),
            (at(100, 0), at(102, 0), 2_000_000_000, true),
            // NTFS: tenths of microseconds.
            (at(100, 100), at(100, 199), 100, false),
            (at(100, 100), at(100, 200), 100, true),
            // Times before 1970 are truncated downwards as well.
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
