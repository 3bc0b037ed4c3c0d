//! MD5: finds accidents, does not resist an attacker, and is what most sum files hold.
//!
//! Each of its steps waits for the one before, so what counts is how few instructions are in that
//! chain, which compilers do not see. Hence the library whose rounds are written by hand, for x86-64
//! and aarch64; on everything else it has ordinary code. It keeps its state to itself, and ours has to
//! be cloned, so blocks are cut and padded by the library that `RustCrypto`'s digests do it with.

use block_buffer::EagerBuffer;
use block_buffer::array::sizes::U64;

use super::{Algorithm, Hasher, Length};

pub(super) const MD5: Algorithm = Algorithm {
    name: "md5",
    tag: "MD5",
    program: "md5sum",
    prefix: "",
    bytes: 16,
    length: Length::Fixed,
    make: |_| Box::new(Md5 { state: START, bytes: 0, buffer: EagerBuffer::default() }),
};

/// What the state is before the first block: RFC 1321, 3.3.
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

#[derive(Clone)]
struct Md5 {
    state: [u32; 4],
    bytes: u64,
    /// The beginning of a block.
    buffer: EagerBuffer<U64>,
}

impl Hasher for Md5 {
    fn update(&mut self, bytes: &[u8]) {
        // As the RFC has it, the length is given modulo 2^64 bits.
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        let state = &mut self.state;
        self.buffer.digest_blocks(bytes, |blocks| {
            blocks.iter().for_each(|block| fast_md5::transform(state, &block.0));
        });
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        let (state, bits) = (&mut self.state, self.bytes.wrapping_mul(8));
        self.buffer.len64_padding_le(bits, |block| fast_md5::transform(state, &block.0));
        self.state.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that look like chance and are the same every time.
    fn noise(count: usize) -> Vec<u8> {
        let mut number = 7_u64;
        let next = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 56) as u8
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn every_length_in_any_pieces_has_the_digest_that_another_library_finds() {
        use md5::Digest as _;
        let bytes = noise(70_000);
        let lengths = (0..300).chain([4095, 4096, 4097, 65_535, 65_536, 70_000]);
        for (number, length) in lengths.enumerate() {
            let expected = md5::Md5::digest(&bytes[..length]).to_vec();
            for step in [1 + number % 130, 64, length.max(1)] {
                let mut digest = MD5.start();
                for (at, piece) in bytes[..length].chunks(step).enumerate() {
                    // One that was left in the middle does not disturb the other.
                    let mut other = digest.clone();
                    other.update(&bytes[..at % 70]);
                    digest.update(piece);
                }
                assert_eq!(digest.finish(), expected, "{length} in pieces of {step}");
            }
        }
    }
}
