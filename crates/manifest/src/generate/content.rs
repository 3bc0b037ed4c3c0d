//! Bytes that cannot be compressed and can be made again.
//!
//! A copier must not gain by compression, deduplication or zero detection, and a wrong byte must
//! be seen, so contents look random; they follow from a seed, so nothing has to be kept.

use super::numbers::number_at;

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
