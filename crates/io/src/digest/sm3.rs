//! SM3: the Chinese standard, of SHA-256's length.

use sm3::Digest as _;

use super::{Algorithm, Hasher, Length};

pub(super) const SM3: Algorithm = Algorithm {
    name: "sm3",
    tag: "SM3",
    program: "cksum",
    prefix: "",
    bytes: 32,
    length: Length::Fixed,
    make: |_| Box::new(Sm3(sm3::Sm3::new())),
};

#[derive(Clone)]
struct Sm3(sm3::Sm3);

impl Hasher for Sm3 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}
