//! Pseudorandom numbers that are the same on every machine, so that a seed names a round.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a counter
//! and a mixer. The generator of `haul-manifest` is private to that crate, because its sequence
//! is part of the fixtures of other tests.

/// Draws numbers one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    counter: u64,
}

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.counter;
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Draws a number below `limit`, which must not be 0. The bias of the remainder does not matter here.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Draws an index of something that has `length` elements, at least one.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        // Below `length`, so it fits.
        self.below(length as u64) as usize
    }

    /// Draws a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns `true` in `percent` of the cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws one of `choices`, which must not be empty.
    pub(crate) fn pick<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.index(choices.len())]
    }

    /// Draws some of `choices`, each with a chance of `percent`, in their order.
    pub(crate) fn some<'t, T>(&mut self, percent: u64, choices: &'t [T]) -> Vec<&'t T> {
        choices.iter().filter(|_| self.chance(percent)).collect()
    }

    /// Fills a buffer.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
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
        assert_eq!(numbers.some(0, &[1, 2]), [0_u8; 0].iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_buffer_of_any_length_is_filled() {
        let mut buffer = [0; 21];
        Numbers::new(7).fill(&mut buffer);
        assert!(buffer.iter().filter(|byte| **byte == 0).count() < 5);
    }
}
