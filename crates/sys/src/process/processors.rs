//! The number of processors that this process may use.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the number of processors that the affinity and the quota of the control groups leave, 1 if it is
/// unknown. Reads files of /proc and /sys the first time, which takes two dozen calls; does not block.
#[must_use]
pub fn processors() -> usize {
    // 0 is unknown. Without a lock, as `sync::Answer` is.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    match COUNT.load(Ordering::Relaxed) {
        0 => {
            let found = std::thread::available_parallelism();
            let count = found.map_or(1, std::num::NonZero::get);
            COUNT.store(count, Ordering::Relaxed);
            count
        }
        count => count,
    }
}
