//! Checksums of a journal's records, keyed by a number that each journal draws for itself.
//!
//! The key makes what is left of another journal in a block that was used before as good as torn.

use haul_io::digest::{Algorithm, TABLE, short_sum};

/// Bytes of the number that a journal draws.
pub(super) const NONCE_BYTES: usize = 8;

/// Bytes of a checksum.
pub(super) const SUM_BYTES: usize = 16;

/// A checksum: of 128 bits, so that it can stand for the record itself in a set.
pub(crate) type Sum = u128;

/// The algorithm of the pieces of large files where nobody asked for another: faster than memory, and
/// what it is to find are accidents.
pub(crate) fn algorithm() -> &'static Algorithm {
    Algorithm::find("xxh3-128").unwrap_or(&TABLE[0])
}

/// Makes the checksums of one journal.
#[derive(Debug)]
pub(super) struct Sums {
    seed: u64,
}

impl Sums {
    pub(super) const fn new(nonce: [u8; NONCE_BYTES]) -> Sums {
        Sums { seed: u64::from_le_bytes(nonce) }
    }

    /// Returns the checksum of some bytes.
    pub(super) fn of(&self, bytes: &[u8]) -> Sum {
        short_sum(self.seed, bytes)
    }
}
