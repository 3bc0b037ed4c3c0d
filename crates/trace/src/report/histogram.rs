//! Counts by powers of two: what `DTrace` calls `quantize`, and what fits a terminal.

use serde::Serialize;

/// Number of values in each power of two.
///
/// The lowest bucket is for 0, every other for the values from its power of two up to the next; the
/// highest bucket also counts all larger values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "Vec<Bucket>")]
pub struct Histogram {
    /// Index 0 is for zero, index n for 2^(n-1) and up.
    counts: Vec<u64>,
}

/// The JSON form of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The lowest value of the bucket.
    pub from: u64,
    /// Number of its values.
    pub count: u64,
}

impl From<Histogram> for Vec<Bucket> {
    fn from(histogram: Histogram) -> Vec<Bucket> {
        histogram.buckets().filter(|bucket| bucket.count > 0).collect()
    }
}

/// Returns the index of the bucket of a value.
fn index_of(value: u64) -> usize {
    value.checked_ilog2().map_or(0, |power| power as usize + 1)
}

impl Histogram {
    /// Counts one value.
    pub fn count(&mut self, value: u64) {
        self.count_many(index_of(value), 1);
    }

    /// Adds to the bucket at an index: 0 for zero, n for 2^(n-1) and up. Above 64 there is none.
    pub(crate) fn count_many(&mut self, index: usize, count: u64) {
        if count == 0 || index > 64 {
            return;
        }
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        if let Some(slot) = self.counts.get_mut(index) {
            *slot = slot.saturating_add(count);
        }
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Histogram) {
        for (index, count) in other.counts.iter().enumerate() {
            self.count_many(index, *count);
        }
    }

    /// Returns the number of values counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the buckets from 0 to the highest non-empty one.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().map(|(index, count)| Bucket {
            from: index.checked_sub(1).map_or(0, |power| 1 << power),
            count: *count,
        })
    }

    /// Returns the lowest value of the bucket below which the given share of the values lie; with
    /// 0.5, the bucket of the median. 0 for an empty histogram.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let total = self.total();
        let mut before = 0_u64;
        for bucket in self.buckets() {
            before = before.saturating_add(bucket.count);
            if before > 0 && to_float(before) >= to_float(total) * share {
                return bucket.from;
            }
        }
        0
    }
}

/// Converts a count to a float, with more precision than a report shows.
#[expect(clippy::cast_precision_loss, reason = "shares and bar lengths need a few digits")]
pub(crate) fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 511, 512, 1023] {
            histogram.count(value);
        }
        let found: Vec<(u64, u64)> = histogram
            .buckets()
            .filter(|bucket| bucket.count > 0)
            .map(|bucket| (bucket.from, bucket.count))
            .collect();
        assert_eq!(found, [(0, 1), (1, 1), (2, 2), (4, 1), (256, 1), (512, 2)]);
        assert_eq!(histogram.total(), 8);
        assert_eq!(histogram.quantile(0.5), 2);
        assert_eq!(histogram.quantile(1.0), 512);
    }

    #[test]
    fn the_largest_value_has_a_bucket() {
        let mut histogram = Histogram::default();
        histogram.count(u64::MAX);
        assert_eq!(histogram.buckets().last().map(|bucket| bucket.from), Some(1 << 63));
    }
}
