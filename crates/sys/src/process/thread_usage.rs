//! `getrusage(RUSAGE_THREAD, …)` — what the calling thread has used so far:
//! <https://man7.org/linux/man-pages/man2/getrusage.2.html>

use std::mem::MaybeUninit;
use std::time::Duration;

/// What a thread has used since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time, in user mode and in the kernel.
    pub cpu: Duration,
    /// Number of voluntary context switches.
    pub waits: u64,
}

/// Returns what the calling thread has used so far. Costs one call and cannot fail; if a sandbox
/// refuses it, all values are 0.
#[must_use]
pub fn thread_usage() -> ThreadUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one `rusage` to memory of that size, or nothing.
    let _answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: every bit pattern is a valid `rusage`, and it was zeroed to begin with.
    let usage = unsafe { usage.assume_init() };
    ThreadUsage {
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        waits: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
    }
}

fn time(time: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_a_wait_and_takes_no_processor() {
        std::thread::spawn(|| {
            let before = thread_usage();
            std::thread::sleep(Duration::from_millis(20));
            let after = thread_usage();
            assert!(after.waits > before.waits);
            assert!(after.cpu - before.cpu < Duration::from_millis(20));
        })
        .join()
        .unwrap();
    }
}
