//! Incompressible, reproducible bytes.
//!
//! Contents look random, so that a copier cannot gain by compression, deduplication or zero
//! detection, and a wrong byte is detected; they derive from a seed, so no reference copy is
//! needed.

use super::numbers::number_at;

/// Returns the first bytes of the contents of `seed`, of which no two places are alike.
///
/// For tests whose own loops are compiled without optimisation, where each byte would take longer than its copy.
#[must_use]
pub fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    fill(seed, 0, &mut buffer);
    buffer
}

/// Fills the buffer with the bytes of `seed` that begin at word `first_word` (8 bytes each).
pub(super) fn fill(seed: u64, first_word: u64, buffer: &mut [u8]) {
    let mut index = first_word;
    let (words, tail) = buffer.as_chunks_mut::<8>();
    for word in words {
        *word = number_at(seed, index).to_le_bytes();
        index = index.wrapping_add(1);
    }
    let last = number_at(seed, index).to_le_bytes();
    for (byte, value) in tail.iter_mut().zip(last) {
        *byte = value;
    }
}
