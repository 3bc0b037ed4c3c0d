//! `clock_gettime` of `CLOCK_REALTIME_COARSE` — the clock that file timestamps come from:
//! <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
//!
//! It advances once a kernel tick, at intervals of up to 10 ms, so a file that is changed now can
//! have a timestamp before an earlier reading of `CLOCK_REALTIME`.

use super::Time;

/// Returns the timestamp that a file changed now on this machine would get. No file that is changed
/// later gets an earlier one, unless its file system truncates timestamps or the clock is set back.
#[must_use]
pub fn file_clock() -> Time {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // rustix searches the vDSO by itself, and reads memory that is not mapped if valgrind(1) hides it.
    // SAFETY: the call writes `now`, which is alive. It fails for no clock that the kernel has.
    unsafe {
        libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now);
    }
    Time { seconds: now.tv_sec, nanoseconds: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::fs::fstat;

    #[test]
    fn what_is_changed_later_has_no_earlier_time() {
        let path = std::env::temp_dir().join(format!("haul-sys-clock-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for _ in 0..1000 {
            let before = file_clock();
            file.write_all(b"x").unwrap();
            let changed = fstat(&file).unwrap().ctime;
            assert!(changed >= before, "{changed:?} is before {before:?}");
        }
    }
}
