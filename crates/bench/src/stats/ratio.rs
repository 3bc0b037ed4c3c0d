//! Ratios of measurements under the same conditions.
//!
//! The ratio of two medians includes all changes between rounds. The median of the quotients within
//! each round does not.

use serde::{Deserialize, Serialize};

use super::bootstrap::{Interval, interval};
use super::quantile::median;

/// How one tool's figures relate to another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median of the quotients.
    pub median: f64,
    /// Their geometric mean.
    pub geometric_mean: f64,
    /// The confidence interval of the median.
    pub interval: Option<Interval>,
    /// Number of rounds with both figures.
    pub rounds: usize,
}

/// Computes the ratio from pairs of (figure, baseline figure), one a round. Pairs without a
/// positive baseline are ignored; `None` if none remains.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], seed: u64) -> Option<Ratio> {
    let quotients: Vec<f64> = pairs
        .iter()
        .filter(|(figure, baseline)| *baseline > 0.0 && *figure > 0.0)
        .map(|(figure, baseline)| figure / baseline)
        .collect();
    let middle = median(&quotients)?;
    let logarithms: f64 = quotients.iter().map(|quotient| libm::log(*quotient)).sum();
    Some(Ratio {
        median: middle,
        geometric_mean: libm::exp(logarithms / quotients.len() as f64),
        interval: interval(&quotients, median, seed),
        rounds: quotients.len(),
    })
}
