//! MD5: finds accidents, stops nobody who means harm, and is what most sum files hold.

use md5::Digest as _;

use super::{Algorithm, Hasher, Length};

pub(super) const MD5: Algorithm = Algorithm {
    name: "md5",
    tag: "MD5",
    program: "md5sum",
    prefix: "",
    bytes: 16,
    length: Length::Fixed,
    make: |_| Box::new(Md5(md5::Md5::new())),
};

#[derive(Clone)]
struct Md5(md5::Md5);

impl Hasher for Md5 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}
