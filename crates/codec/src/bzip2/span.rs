//! A part of a bzip2 stream: bits, which begin and end anywhere in a byte.
//!
//! Each block of bzip2 is independent of the others. Shifted to a byte, and between a header and an end of a
//! stream, it is a stream of its own, so a decoder of whole streams also decodes blocks, and compares the check
//! sum of the data with the block's. `bzip2recover` makes its files like this.

use bzip2::{Decompress, Status};

use crate::error::Damage;
use crate::piece::Pieces;

/// First 48 bits of a block.
pub(super) const BLOCK: u64 = 0x3141_5926_5359;

/// First 48 bits of the end of a stream; the check sum of the stream follows.
pub(super) const END: u64 = 0x1772_4538_5090;

pub(super) const MAGIC_BITS: usize = 48;
pub(super) const CHECK_BITS: usize = 32;

/// What a worker makes of a block: pieces, and what is wrong behind them.
pub(super) type Done = (Vec<Vec<u8>>, Option<Damage>);

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    bytes: Vec<u8>,
    /// Bits of the first byte that precede the part.
    skipped: usize,
    bits: usize,
    /// The last byte of the stream's header: the size of its blocks.
    level: u8,
    /// Whether the input ends in it.
    is_cut: bool,
}

impl Span {
    /// Copies the bits from `skipped` to `end` of `bytes`.
    pub(super) fn of(bytes: &[u8], (skipped, end): (usize, usize), level: u8) -> Span {
        let bytes = bytes[..end.div_ceil(8)].to_vec();
        Span { bytes, skipped, bits: end - skipped, level, is_cut: false }
    }

    /// Says that the input ends in this part.
    pub(super) fn cut(self) -> Span {
        Span { is_cut: true, ..self }
    }

    pub(super) fn bits(&self) -> usize {
        self.bits
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Adds the part that follows.
    pub(super) fn append(&mut self, next: &Span) {
        // Both have a byte that the border lies in.
        let shared = usize::from(next.skipped > 0);
        self.bytes.extend_from_slice(&next.bytes[shared..]);
        self.bits += next.bits;
        self.is_cut = next.is_cut;
    }

    /// Returns the check sum behind the magic number; 0 if the part is too short to have one.
    pub(super) fn check(&self) -> u32 {
        let bytes = self.aligned();
        let check = bytes.get(MAGIC_BITS / 8..).and_then(|rest| rest.first_chunk());
        check.map_or(0, |check| u32::from_be_bytes(*check))
    }

    /// Returns the bits from the beginning of a byte on, and zeros behind them.
    fn aligned(&self) -> Vec<u8> {
        let pairs = self.bytes.iter().zip(self.bytes.iter().skip(1).chain([&0]));
        let shifted = pairs.map(|(byte, next)| {
            let pair = u16::from_be_bytes([*byte, *next]) << self.skipped;
            pair.to_be_bytes()[0]
        });
        let mut bytes: Vec<u8> = shifted.take(self.bits.div_ceil(8)).collect();
        if let Some(last) = bytes.last_mut().filter(|_| !self.bits.is_multiple_of(8)) {
            *last &= 0xff << (8 - self.bits % 8);
        }
        bytes
    }

    /// Returns a stream of this block alone.
    fn stream(&self) -> Vec<u8> {
        let mut stream = [b"BZh".as_slice(), &[self.level], &self.aligned()].concat();
        if self.is_cut {
            return stream;
        }
        // The check sum of a stream of one block is the block's.
        let end = u128::from(END) << CHECK_BITS | u128::from(self.check());
        let used = self.bits % 8;
        let end = (end << (128 - MAGIC_BITS - CHECK_BITS) >> used).to_be_bytes();
        let mut rest = &end[..(used + MAGIC_BITS + CHECK_BITS).div_ceil(8)];
        if used > 0
            && let Some(last) = stream.last_mut()
        {
            *last |= rest[0];
            rest = &rest[1..];
        }
        stream.extend_from_slice(rest);
        stream
    }

    /// Decompresses the block.
    pub(super) fn decode(&self) -> Done {
        let stream = self.stream();
        let mut library = Decompress::new(false);
        let mut pieces = Pieces::default();
        let mut at = 0;
        let failed = loop {
            let before = library.total_out();
            let status = library.decompress(&stream[at..], pieces.room());
            let consumed = usize::try_from(library.total_in()).unwrap_or(at) - at;
            let produced = usize::try_from(library.total_out() - before).unwrap_or(0);
            pieces.advance(produced);
            at += consumed;
            match status {
                Ok(Status::StreamEnd) if at == stream.len() => break None,
                Ok(Status::StreamEnd) | Err(_) => break Some(Damage::Format),
                Ok(Status::MemNeeded) => break Some(Damage::Memory),
                Ok(_) if consumed == 0 && produced == 0 => break Some(Damage::UnexpectedEnd),
                Ok(_) => {}
            }
        };
        (pieces.into_pieces(), failed)
    }
}

/// Returns the bit from `from` on at which the first magic number begins that has at least two bytes behind it.
pub(super) fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let first = from / 8;
    let words = bytes.get(first..)?.windows(8).enumerate();
    words.filter_map(|(at, word)| Some((at, u64::from_be_bytes(*word.first_chunk()?)))).find_map(
        |(at, word)| {
            let is_magic = |shift: &usize| {
                let magic = word << shift >> (64 - MAGIC_BITS);
                magic == BLOCK || magic == END
            };
            let bit = (first + at) * 8;
            (0..8).filter(is_magic).map(|shift| bit + shift).find(|bit| *bit >= from)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes in which these 48 bits begin at a bit.
    fn with_magic(magic: u64, bit: usize) -> Vec<u8> {
        let word = u128::from(magic) << (128 - MAGIC_BITS) >> (bit % 8);
        [vec![0; bit / 8], word.to_be_bytes().to_vec()].concat()
    }

    #[test]
    fn a_magic_number_is_found_at_every_bit() {
        for bit in 0..40 {
            for magic in [BLOCK, END] {
                let bytes = with_magic(magic, bit);
                for from in 0..=bit {
                    assert_eq!(find(&bytes, from), Some(bit), "{bit} from {from}");
                }
                assert_eq!(find(&bytes, bit + 1), None);
            }
        }
    }

    #[test]
    fn parts_that_follow_each_other_make_one() {
        let bytes: Vec<u8> = (0..40).map(|byte: u8| byte.wrapping_mul(37)).collect();
        for (from, to) in [(0, 100), (3, 96), (5, 101), (7, 104)] {
            let mut whole = Span::of(&bytes, (from, to), b'9');
            let rest = Span::of(&bytes[to / 8..], (to % 8, 200 - to / 8 * 8), b'9');
            whole.append(&rest);
            assert_eq!(whole.aligned(), Span::of(&bytes, (from, 200), b'9').aligned());
        }
    }
}
