//! SHA-2, in the four lengths that there are programs for.

use sha2::Digest as _;

use super::{Algorithm, Hasher, Length};

pub(super) const SHA224: Algorithm = Algorithm {
    name: "sha224",
    tag: "SHA224",
    program: "sha224sum",
    prefix: "",
    bytes: 28,
    length: Length::Fixed,
    make: |_| Box::new(Sha2(sha2::Sha224::new())),
};

pub(super) const SHA256: Algorithm = Algorithm {
    name: "sha256",
    tag: "SHA256",
    program: "sha256sum",
    prefix: "",
    bytes: 32,
    length: Length::Fixed,
    make: |_| Box::new(Sha2(sha2::Sha256::new())),
};

pub(super) const SHA384: Algorithm = Algorithm {
    name: "sha384",
    tag: "SHA384",
    program: "sha384sum",
    prefix: "",
    bytes: 48,
    length: Length::Fixed,
    make: |_| Box::new(Sha2(sha2::Sha384::new())),
};

pub(super) const SHA512: Algorithm = Algorithm {
    name: "sha512",
    tag: "SHA512",
    program: "sha512sum",
    prefix: "",
    bytes: 64,
    length: Length::Fixed,
    make: |_| Box::new(Sha2(sha2::Sha512::new())),
};

#[derive(Clone)]
struct Sha2<H>(H);

impl<H: sha2::Digest + Clone + Send + 'static> Hasher for Sha2<H> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}
