//! Digests: what bytes look like in short, so that a copy can be verified and damage is found.
//!
//! A file for each family, and a line for each algorithm in [`TABLE`]. Everything that hashes (a copy
//! that is verified, sum files, the sum applets, a journal) goes through [`Digest`], so that a name
//! means the same algorithm everywhere.

mod additive;
mod blake2b;
mod blake3;
pub mod block_digests;
mod crc;
mod md5;
pub(crate) mod pane;
mod sha1;
mod sha2;
mod sm3;
mod stream;
mod tree;
mod xxh;
mod xxh3;

pub use ::blake3::OutputReader;
pub use stream::{Digest, HOLES_MAX_BYTES, hex};
pub use tree::{Keying, hash_tree, is_worth_a_tree};
pub use xxh3::short_sum;

/// Takes bytes in pieces, and tells their digest at the end.
pub trait Hasher: Fork + Send {
    /// Takes the next bytes.
    fn update(&mut self, bytes: &[u8]);

    /// Returns the digest of all bytes that were taken.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Goes on in two ways from one state; what every hasher that can be cloned does.
pub trait Fork {
    /// Makes another in the same state.
    fn fork(&self) -> Box<dyn Hasher>;
}

impl<H: Hasher + Clone + 'static> Fork for H {
    fn fork(&self) -> Box<dyn Hasher> {
        Box::new(self.clone())
    }
}

/// An algorithm: what it is called and how long its digests are.
#[derive(Debug)]
pub struct Algorithm {
    /// The name, as options spell it.
    pub name: &'static str,
    /// What BSD-style lines call it (`MD5 (file) = …`).
    pub tag: &'static str,
    /// The ordinary program whose check files look like ours, and that reads them.
    pub program: &'static str,
    /// What that program writes before the digits, if anything.
    pub prefix: &'static str,
    /// The length of a digest in bytes: the longest, where the caller may choose.
    pub bytes: usize,
    /// Whether a caller may ask for fewer bytes.
    pub length: Length,
    /// Makes a hasher whose digests have this many bytes.
    make: fn(usize) -> Box<dyn Hasher>,
}

/// Whether the length of an algorithm's digests can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It is what it is.
    Fixed,
    /// Any number of whole bytes from 1 to the longest.
    Chosen,
}

/// Every algorithm. The first is the default: it is both the fastest that resists forgery here, and
/// safe to compare with what others have made.
pub static TABLE: &[Algorithm] = &[
    blake3::BLAKE3,
    xxh3::XXH3_64,
    xxh3::XXH3_128,
    blake2b::BLAKE2B,
    sha2::SHA256,
    sha2::SHA512,
    sha2::SHA384,
    sha2::SHA224,
    sha1::SHA1,
    md5::MD5,
    sm3::SM3,
    xxh::XXH64,
    xxh::XXH32,
];

/// Checksums that are too short to tell files apart, which `cksum` and `sum` have: never found by
/// [`Algorithm::find`], so that no copy is verified with them.
pub static CHECKSUMS: &[Algorithm] = &[crc::CRC, crc::CRC32B, additive::BSD, additive::SYSV];

/// Other spellings of names in [`TABLE`].
const ALIASES: &[(&str, &str)] = &[
    ("xxh3", "xxh3-64"),
    ("xxh128", "xxh3-128"),
    ("b3", "blake3"),
    ("b2", "blake2b"),
    ("sha-1", "sha1"),
    ("sha-224", "sha224"),
    ("sha-256", "sha256"),
    ("sha-384", "sha384"),
    ("sha-512", "sha512"),
];

/// Names are unique, and stand for everything else.
impl PartialEq for Algorithm {
    fn eq(&self, other: &Algorithm) -> bool {
        self.name == other.name
    }
}

impl Eq for Algorithm {}

impl Algorithm {
    /// Finds an algorithm by its name, in any case.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Algorithm> {
        let name = name.to_ascii_lowercase();
        let meant = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(&*name, |(_, of)| of);
        TABLE.iter().find(|algorithm| algorithm.name == meant)
    }

    /// Starts a digest of the algorithm's own length.
    #[must_use]
    pub fn start(&'static self) -> Digest {
        Digest::new((self.make)(self.bytes))
    }

    /// Starts a digest of this many bytes; `None` where the algorithm has no such length.
    #[must_use]
    pub fn start_with(&'static self, bytes: usize) -> Option<Digest> {
        let fits = match self.length {
            Length::Fixed => bytes == self.bytes,
            Length::Chosen => (1..=self.bytes).contains(&bytes),
        };
        fits.then(|| Digest::new((self.make)(bytes)))
    }
}

#[cfg(test)]
mod tests;
