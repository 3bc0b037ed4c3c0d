//! Pseudorandom numbers, reproducible on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014) is a
//! counter and a mixer, so that the n-th number can be computed without those before it. Only
//! integer arithmetic and the exactly rounded operations of floating point are used: no logarithm
//! whose last digit would differ from one C library to the next.

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the mixed form of a counter.
pub(super) fn mix(seed: u64) -> u64 {
    let z = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Returns the number at `index` in the sequence of `seed`.
pub(super) fn number_at(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

/// Draws numbers one after the other.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    seed: u64,
    index: u64,
}

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, index: 0 }
    }

    pub(super) fn next(&mut self) -> u64 {
        let number = number_at(self.seed, self.index);
        self.index += 1;
        number
    }

    /// Draws a number below `limit`; 0 if there is none. The tiny bias of the remainder does not
    /// matter to a fixture.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    /// Draws a number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Returns `true` in `percent` of the cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws one of `choices`, which must not be empty for anything but the default.
    pub(super) fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64) as usize;
        choices.get(index).copied().unwrap_or_default()
    }

    /// Draws a size around `median`, at most `cap`: two thirds of all sizes are within a factor
    /// of `2^spread` of the median, as with a log-normal distribution.
    ///
    /// The normal deviate is a sum of twelve uniform ones (Irwin-Hall), which ends at six
    /// deviations; the power of two is interpolated between whole exponents.
    pub(super) fn log_normal(&mut self, median: u64, spread: f64, cap: u64) -> u64 {
        let unit = 1.0 / (1_u64 << 53) as f64;
        let sum: f64 = (0..12).map(|_| (self.next() >> 11) as f64 * unit).sum();
        let exponent = (sum - 6.0) * spread;
        let whole = exponent.floor();
        let mut power = 1.0 + (exponent - whole);
        // At most six deviations away: some dozens of steps.
        for _ in 0..(whole.abs() as u32) {
            power = if whole < 0.0 { power / 2.0 } else { power * 2.0 };
        }
        ((median as f64 * power) as u64).min(cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        // The reference implementation's first outputs for the seed 1234567.
        let mut numbers = Numbers::new(1_234_567);
        assert_eq!(numbers.next(), 6_457_827_717_110_365_317);
        assert_eq!(numbers.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn sizes_are_around_the_median_and_below_the_cap() {
        let mut numbers = Numbers::new(1);
        let mut sizes: Vec<u64> =
            (0..10_000).map(|_| numbers.log_normal(4096, 3.0, 1 << 20)).collect();
        sizes.sort_unstable();
        assert!((3000..6000).contains(&sizes[5000]), "median {}", sizes[5000]);
        assert_eq!(sizes[9999], 1 << 20);
        assert!(sizes[0] < 64);
    }
}
