//! XXH3: no cryptography, as fast as memory; finds accidents.

use xxhash_rust::xxh3::{Xxh3, xxh3_128_with_seed};

use super::{Algorithm, Hasher, Length};

pub(super) const XXH3_64: Algorithm = Algorithm {
    name: "xxh3-64",
    tag: "XXH3",
    program: "xxhsum",
    // xxhsum writes it so that these are not taken for the older XXH64.
    prefix: "XXH3_",
    bytes: 8,
    length: Length::Fixed,
    make: |_| Box::new(Short(Xxh3::new())),
};

pub(super) const XXH3_128: Algorithm = Algorithm {
    name: "xxh3-128",
    tag: "XXH128",
    program: "xxh128sum",
    prefix: "",
    bytes: 16,
    length: Length::Fixed,
    make: |_| Box::new(Long(Xxh3::new())),
};

/// Returns the XXH3 of a few bytes at once, of 128 bits, keyed by a seed: for what is summed by the
/// ten thousand, where making a hasher would take longer than hashing.
#[must_use]
pub fn short_sum(seed: u64, bytes: &[u8]) -> u128 {
    xxh3_128_with_seed(bytes, seed)
}

#[derive(Clone)]
struct Short(Xxh3);

impl Hasher for Short {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    // The canonical form is big-endian, whatever the machine.
    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.digest().to_be_bytes().to_vec()
    }
}

#[derive(Clone)]
struct Long(Xxh3);

impl Hasher for Long {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.digest128().to_be_bytes().to_vec()
    }
}
