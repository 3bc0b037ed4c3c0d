//! A pause that never fails.

use std::time::Duration;

use rustix::fs::Timespec;
use rustix::thread::nanosleep;

/// Blocks for about this time, and for less if a signal arrives or the kernel refuses the call: the caller
/// waits for something, and looks for it again. The standard library's `sleep` panics in the latter case.
pub fn doze(time: Duration) {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let time = Timespec { tv_sec: seconds, tv_nsec: i64::from(time.subsec_nanos()) };
    let _answer = nanosleep(&time);
}
