//! Pseudorandom numbers, the same for the same seed.

/// A generator of random numbers: `SplitMix64` (Steele, Lea and Flood 2014), which passes the usual
/// batteries and needs eight bytes of state. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`; 0 if that is 0. The bias is below 2⁻³² for any limit here.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }

    /// Shuffles the values (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for index in (1..values.len()).rev() {
            values.swap(index, self.below(index + 1));
        }
    }
}
