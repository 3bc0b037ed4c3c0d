//! The number of processors that this process may use.

use std::sync::OnceLock;

/// Returns the number of processors that the affinity and the quota of the control groups leave, 1 if it is
/// unknown. Reads files of /proc and /sys the first time, which takes two dozen calls; does not block.
#[must_use]
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}
