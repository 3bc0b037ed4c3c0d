//! Outliers.

use super::quantile::quantile;

/// Tukey's inner fences: one and a half interquartile ranges beyond the quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fences {
    /// Values below are outliers.
    pub low: f64,
    /// Values above are outliers.
    pub high: f64,
}

/// Returns the fences of the values; `None` for fewer than four, whose quartiles are meaningless.
#[must_use]
pub fn fences(values: &[f64]) -> Option<Fences> {
    if values.len() < 4 {
        return None;
    }
    let (first, third) = (quantile(values, 0.25)?, quantile(values, 0.75)?);
    let reach = 1.5 * (third - first);
    Some(Fences { low: first - reach, high: third + reach })
}

impl Fences {
    /// Counts the outliers.
    #[must_use]
    pub fn outside(&self, values: &[f64]) -> usize {
        values.iter().filter(|value| **value < self.low || **value > self.high).count()
    }
}
