//! Distinguishes a worker that waits for storage from one that works.
//!
//! If each step is a round trip to a server, the processors are idle, and more workers overlap
//! more latency. If the processors are busy, more workers obstruct each other. Wall-clock time
//! alone cannot distinguish the two cases. The meter compares it with the thread's processor time,
//! and counts voluntary context switches: a thread that was preempted also takes long, but did not
//! wait.

use std::time::{Duration, Instant};

use haul_sys::process::{ThreadUsage, thread_usage};

/// Time for which a worker is measured before a decision: several times the latency of a near
/// server. It is so short that a pool which has to grow from 3 to 32 workers has done so within a
/// fiftieth of a second.
const WINDOW: Duration = Duration::from_millis(4);

/// A worker waits if it used at most one part in this many of the time: that many workers do not
/// fill even one processor.
const WAITING_PARTS: u32 = 4;

/// Measurement of one worker.
#[derive(Debug)]
pub struct Meter {
    since: Instant,
    before: ThreadUsage,
    steps: u64,
    paused: Option<(Instant, ThreadUsage)>,
}

impl Meter {
    /// Starts to measure the calling thread.
    #[must_use]
    pub fn begin() -> Meter {
        Meter { since: Instant::now(), before: thread_usage(), steps: 0, paused: None }
    }

    /// Leaves out what comes until [`Meter::resume`]: the thread has no steps to do.
    pub fn pause(&mut self) {
        self.paused = Some((Instant::now(), thread_usage()));
    }

    /// Goes on after [`Meter::pause`].
    pub fn resume(&mut self) {
        if let Some((paused, usage)) = self.paused.take() {
            let now = thread_usage();
            self.since += paused.elapsed();
            self.before.cpu += now.cpu.saturating_sub(usage.cpu);
            self.before.waits += now.waits - usage.waits;
        }
    }

    /// Returns whether the thread has mostly waited during the last steps. Returns false until a
    /// window of 4 ms has passed, and makes a system call only once per window.
    pub fn is_waiting(&mut self, steps: u64) -> bool {
        self.steps += steps;
        let time = self.since.elapsed();
        if time < WINDOW {
            return false;
        }
        let now = thread_usage();
        let waits = judge(time, self.before, now, self.steps);
        *self = Meter { since: Instant::now(), before: now, steps: 0, paused: None };
        waits
    }
}

fn judge(time: Duration, before: ThreadUsage, now: ThreadUsage, steps: u64) -> bool {
    let cpu = now.cpu.saturating_sub(before.cpu);
    cpu * WAITING_PARTS <= time && now.waits - before.waits >= steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ThreadUsage = ThreadUsage { cpu: Duration::ZERO, waits: 0 };

    fn used(cpu_ms: u64, waits: u64) -> ThreadUsage {
        ThreadUsage { cpu: Duration::from_millis(cpu_ms), waits }
    }

    #[test]
    fn trips_are_waits_and_work_is_not() {
        let time = Duration::from_millis(20);
        assert!(judge(time, NOTHING, used(1, 10), 5));
        assert!(!judge(time, NOTHING, used(15, 10), 5));
    }

    #[test]
    fn whoever_is_pushed_aside_does_not_wait() {
        assert!(!judge(Duration::from_millis(20), NOTHING, used(1, 0), 5));
    }
}
