//! Order statistics.

/// Returns the quantile `p` (0 to 1) of the values, interpolated linearly between the neighbours
/// (type 7 of Hyndman and Fan 1996, what R and `NumPy` do by default); `None` of no values.
#[must_use]
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_sorted(&sorted, p)
}

/// Returns the median; `None` of no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the quantile `p` of values that are in order already.
pub(super) fn quantile_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor();
    let low = *sorted.get(below as usize)?;
    let high = *sorted.get(position.ceil() as usize)?;
    Some(low + (high - low) * (position - below))
}
