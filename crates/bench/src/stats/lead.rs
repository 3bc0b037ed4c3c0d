//! Whether the fastest of several is shown to be the fastest.

use super::bootstrap::Interval;

/// Returns the places of those that the fastest is not shown to be faster than. `against` has, for
/// each of the others, where the ratio of the fastest one's figure to its own lies. A lead is shown
/// against one only if that interval leaves 1 out; without an interval nothing is shown. So the
/// fastest one leads only where this is empty.
#[must_use]
pub fn level_with(against: &[Option<Interval>]) -> Vec<usize> {
    let is_behind = |interval: &Option<Interval>| interval.is_some_and(|found| found.high < 1.0);
    let places = against.iter().enumerate().filter(|(_, interval)| !is_behind(interval));
    places.map(|(place, _)| place).collect()
}
