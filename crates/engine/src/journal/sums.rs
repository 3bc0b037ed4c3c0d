//! Checksums of a journal's records, keyed by a random number of the journal.
//!
//! Because of the key, a reader treats the records of another journal in a reused block as torn.

use haul_io::digest::{Algorithm, TABLE, short_sum};

/// Number of bytes of the random number of a journal.
pub(super) const NONCE_BYTES: usize = 8;

/// Number of bytes of a checksum.
pub(super) const SUM_BYTES: usize = 16;

/// Checksum of 128 bits, which is long enough to represent the record in a set.
pub(crate) type Sum = u128;

/// Returns the algorithm for the pieces of large files for which the user chose no other: it is
/// faster than memory, and only has to detect accidental changes.
pub(crate) fn algorithm() -> &'static Algorithm {
    Algorithm::find("xxh3-128").unwrap_or(&TABLE[0])
}

/// Checksum function of one journal.
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
