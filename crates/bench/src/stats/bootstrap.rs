//! Confidence intervals by resampling.

use haul_manifest::Numbers;
use serde::{Deserialize, Serialize};

use super::quantile::quantile_sorted;

/// How often the values are resampled. The ends of a 95 % interval are then the 50th smallest and
/// largest of the resampled statistics, whose sampling error is about a seventh of their own
/// spread.
const RESAMPLES: usize = 2_000;

/// Fewer values have no interval: the median of a distribution lies between the smallest and the
/// largest of five values in 94 of 100 cases, but of three only in 75, whatever is computed.
pub const VALUES_MIN: usize = 5;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether `value` is in the closed interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Returns the 95 % percentile-bootstrap interval of a statistic (Efron 1979); the same for the
/// same values and seed. `None` for fewer than [`VALUES_MIN`] values.
///
/// With five values the interval of a median reaches from the smallest to the largest one.
#[must_use]
pub fn interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    seed: u64,
) -> Option<Interval> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut numbers = Numbers::new(seed);
    let mut sample = vec![0.0; values.len()];
    let mut found = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for slot in &mut sample {
            *slot = *values.get(numbers.index(values.len()))?;
        }
        found.push(statistic(&sample)?);
    }
    found.sort_by(f64::total_cmp);
    Some(Interval { low: quantile_sorted(&found, 0.025)?, high: quantile_sorted(&found, 0.975)? })
}
