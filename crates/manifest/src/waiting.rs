//! Waiting for a condition, in tests.
//!
//! A test waits for an event. Some events have no descriptor that poll(2) could wait for: what another process is
//! doing, pages that are written back, a counter of another thread. For those a test asks again and again, here and
//! nowhere else, and only a hang reaches the limit.

use std::time::{Duration, Instant};

/// Time after which a condition is taken for one that never holds; beside a load the longest takes seconds.
const LIMIT: Duration = Duration::from_secs(120);

const PAUSE: Duration = Duration::from_millis(1);

/// Blocks until a condition holds, for a limited time, and returns whether it does.
pub fn holds_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if begun.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Blocks until a condition holds, which is asked for once a millisecond.
///
/// # Panics
///
/// If it does not hold within two minutes; the message has `what`.
#[track_caller]
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_within(LIMIT, condition), "waited in vain until {what}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_condition_is_asked_for_until_it_holds() {
        let asked = AtomicU32::new(0);
        wait_until("it was asked for three times", || asked.fetch_add(1, Ordering::Relaxed) == 2);
        assert_eq!(asked.into_inner(), 3);
        assert!(!holds_within(Duration::ZERO, || false));
    }
}
