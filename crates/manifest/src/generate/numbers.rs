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

/// Numbers that are drawn one after the other, the same for the same seed. Not for secrets.
#[derive(Clone, Debug)]
pub struct Numbers {
    seed: u64,
    index: u64,
}

impl Numbers {
    /// Begins the sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, index: 0 }
    }

    /// Draws a number.
    #[expect(clippy::should_implement_trait, reason = "the sequence has no end")]
    pub fn next(&mut self) -> u64 {
        let number = number_at(self.seed, self.index);
        self.index += 1;
        number
    }

    /// Draws a number below `limit`; 0 if there is none. The tiny bias of the remainder does not
    /// matter to a test.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    /// Draws a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Returns `true` in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws an index of something that has `length` elements; 0 if there are none.
    pub fn index(&mut self, length: usize) -> usize {
        // Below `length`, so it fits.
        self.below(length as u64) as usize
    }

    /// Draws one of `choices`.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.index(choices.len())]
    }

    /// Draws some of `choices`, each with a chance of `percent`, in their order.
    pub fn some<'t, T>(&mut self, percent: u64, choices: &'t [T]) -> Vec<&'t T> {
        choices.iter().filter(|_| self.chance(percent)).collect()
    }

    /// Shuffles the values (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for index in (1..values.len()).rev() {
            values.swap(index, self.index(index + 1));
        }
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
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
    fn draws_stay_within_their_limits_and_reach_them() {
        let mut numbers = Numbers::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| numbers.between(3, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
        assert!(!numbers.chance(0) && numbers.chance(100));
        assert_eq!(numbers.some(100, &[1, 2]), [&1, &2]);
        assert!(numbers.some(0, &[1, 2]).is_empty());
        assert_eq!(numbers.below(0), 0);
    }

    #[test]
    fn a_buffer_of_any_length_is_filled() {
        let mut buffer = [0; 21];
        Numbers::new(7).fill(&mut buffer);
        assert!(buffer.iter().filter(|byte| **byte == 0).count() < 5);
    }

    #[test]
    fn shuffling_is_fair() {
        let mut numbers = Numbers::new(1);
        let mut first = [0_u32; 4];
        for _ in 0..4000 {
            let mut order = [0, 1, 2, 3];
            numbers.shuffle(&mut order);
            first[order[0]] += 1;
        }
        assert!(first.iter().all(|count| (900..1100).contains(count)), "{first:?}");
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
