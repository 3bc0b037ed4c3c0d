//! BLAKE2b, of any length up to 512 bits, as `b2sum -l` has it.

use super::{Algorithm, Hasher, Length};

pub(super) const BLAKE2B: Algorithm = Algorithm {
    name: "blake2b",
    tag: "BLAKE2b",
    program: "b2sum",
    prefix: "",
    bytes: 64,
    length: Length::Chosen,
    make: |bytes| Box::new(Blake2b(blake2b_simd::Params::new().hash_length(bytes).to_state())),
};

#[derive(Clone)]
struct Blake2b(blake2b_simd::State);

impl Hasher for Blake2b {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().as_bytes().to_vec()
    }
}
