//! XXH32 and XXH64, the older ones, which `xxhsum` has as its usual ones.

use xxhash_rust::xxh32::Xxh32;
use xxhash_rust::xxh64::Xxh64;

use super::{Algorithm, Hasher, Length};

pub(super) const XXH64: Algorithm = Algorithm {
    name: "xxh64",
    tag: "XXH64",
    program: "xxhsum",
    prefix: "",
    bytes: 8,
    length: Length::Fixed,
    make: |_| Box::new(Of64(Xxh64::new(0))),
};

pub(super) const XXH32: Algorithm = Algorithm {
    name: "xxh32",
    tag: "XXH32",
    program: "xxh32sum",
    prefix: "",
    bytes: 4,
    length: Length::Fixed,
    make: |_| Box::new(Of32(Xxh32::new(0))),
};

#[derive(Clone)]
struct Of64(Xxh64);

impl Hasher for Of64 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.digest().to_be_bytes().to_vec()
    }
}

#[derive(Clone)]
struct Of32(Xxh32);

impl Hasher for Of32 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.digest().to_be_bytes().to_vec()
    }
}
