//! SHA-1: forged since 2017, kept for the sums that exist already.

use sha1::Digest as _;

use super::{Algorithm, Hasher, Length};

pub(super) const SHA1: Algorithm = Algorithm {
    name: "sha1",
    tag: "SHA1",
    program: "sha1sum",
    prefix: "",
    bytes: 20,
    length: Length::Fixed,
    make: |_| Box::new(Sha1(sha1::Sha1::new())),
};

#[derive(Clone)]
struct Sha1(sha1::Sha1);

impl Hasher for Sha1 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}
