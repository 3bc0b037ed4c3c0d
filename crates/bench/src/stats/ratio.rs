//! Ratios of what was measured under the same conditions.
//!
//! Dividing two medians lets everything that changed between rounds into the ratio. Dividing within
//! each round and taking the median of the quotients keeps it out.

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
    /// Where the median lies, as far as the rounds can tell.
    pub interval: Option<Interval>,
    /// How many rounds have both figures.
    pub rounds: usize,
}

/// Relates pairs of (figure, baseline figure), one a round. Pairs without a positive baseline are
/// left out; `None` if nothing is left.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], seed: u64) -> Option<Ratio> {
    let quotients: Vec<f64> = pairs
        .iter()
        .filter(|(figure, baseline)| *baseline > 0.0 && *figure > 0.0)
        .map(|(figure, baseline)| figure / baseline)
        .collect();
    let middle = median(&quotients)?;
    let logarithms: f64 = quotients.iter().map(|quotient| quotient.ln()).sum();
    Some(Ratio {
        median: middle,
        geometric_mean: (logarithms / quotients.len() as f64).exp(),
        interval: interval(&quotients, median, seed),
        rounds: quotients.len(),
    })
}
