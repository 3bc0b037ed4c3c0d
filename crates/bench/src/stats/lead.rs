//! Whether the lead of the fastest tool is significant.

use super::bootstrap::Interval;

/// Returns the indexes of the tools over which the lead of the fastest one is not significant.
/// `against` has, for each other tool, the interval of the ratio of the fastest one's figure to its
/// own. A lead is significant only if that interval excludes 1; without an interval it is not. So
/// the fastest one leads only if the result is empty.
#[must_use]
pub fn level_with(against: &[Option<Interval>]) -> Vec<usize> {
    let is_behind = |interval: &Option<Interval>| interval.is_some_and(|found| found.high < 1.0);
    let places = against.iter().enumerate().filter(|(_, interval)| !is_behind(interval));
    places.map(|(place, _)| place).collect()
}
