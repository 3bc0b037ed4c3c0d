//! Tells a worker that waits for storage from one that works.
//!
//! Where each step is a trip to somewhere else, the processors are idle and more workers keep more
//! latency going; where they are busy, more workers only get into each other's way. A clock cannot tell
//! the two apart, but the thread's own processor time against the clock can, together with how often
//! it gave its processor up: one that was pushed aside by others also takes long, but did not wait.

use std::time::{Duration, Instant};

use haul_sys::process::{ThreadUsage, thread_usage};

/// How long a worker is watched before it is judged: a few latency of a near server, and so short that
/// a pool which has to grow from 3 to 32 has done so after a fiftieth of a second.
const WINDOW: Duration = Duration::from_millis(4);

/// A worker waits if it used no more than one part in this many of the time: then as many workers do
/// not even fill one processor.
const WAITING_PARTS: u32 = 4;

/// Watches one worker.
#[derive(Debug)]
pub(crate) struct Meter {
    since: Instant,
    before: ThreadUsage,
    steps: u64,
}

impl Meter {
    /// Begins to watch the calling thread.
    pub(crate) fn begin() -> Meter {
        Meter { since: Instant::now(), before: thread_usage(), steps: 0 }
    }

    /// Tells whether the thread has mostly waited for the last steps; not before some time is over.
    /// No call but once in a window.
    pub(crate) fn is_waiting(&mut self, steps: u64) -> bool {
        self.steps += steps;
        let time = self.since.elapsed();
        if time < WINDOW {
            return false;
        }
        let now = thread_usage();
        let waits = judge(time, self.before, now, self.steps);
        *self = Meter { since: Instant::now(), before: now, steps: 0 };
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
