//! Points: places in a gzip file where a reader can begin, and the bits that make an inflater do so.
//!
//! A block of deflate may begin at any bit of a byte, and may refer to the 32 KiB before it. An
//! inflater takes whole bytes, so it first gets empty blocks that are as long as the bits of the
//! first byte that belong to the block before, and the 32 KiB as its dictionary. That a block really
//! begins at a bit is proved as at a restart mark: the worker that decompresses the bytes before the
//! point reads a final empty block in its place, which ends the stream if the point lies between two
//! blocks.

/// Bytes before a block that it may refer to, RFC 1951.
pub(crate) const WINDOW_BYTES: usize = 32 << 10;

/// A place in a gzip file where a reader can begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Bits of the file before the point.
    pub bit: u64,
    /// Original bytes before the point, of all members.
    pub original_bytes: u64,
    /// What begins here.
    pub place: Place,
}

/// What begins at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A member.
    Member,
    /// A block of deflate, which may refer to these original bytes before it, at most 32 KiB.
    Block(Vec<u8>),
}

/// Takes points as they are found, in the order of the file.
pub type PointSink = Box<dyn FnMut(Point) + Send>;

/// Yields points in the order of the file.
pub type PointSource = Box<dyn Iterator<Item = Point> + Send>;

/// What a decoder does with points.
pub(crate) enum Points {
    Ignore,
    Find(PointSink),
    Follow(PointSource),
}

/// The last bytes that a stream had.
#[derive(Debug, Default)]
pub(super) struct Recent {
    bytes: Vec<u8>,
}

impl Recent {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let from = bytes.len().saturating_sub(WINDOW_BYTES);
        self.bytes.extend_from_slice(&bytes[from..]);
        // Moving them is worth it for several windows at once.
        if self.bytes.len() >= 4 * WINDOW_BYTES {
            self.bytes.drain(..self.bytes.len() - WINDOW_BYTES);
        }
    }

    /// Returns the last bytes, at most a window, and at most so many.
    pub(super) fn last(&self, most: u64) -> &[u8] {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(WINDOW_BYTES);
        &self.bytes[self.bytes.len().saturating_sub(most)..]
    }
}

/// Returns what an inflater reads in place of the first byte of a block that begins at this bit of
/// it, from 1 to 7: empty blocks, and the byte's own bits from there on.
pub(super) fn lead(first: u8, bits: u8) -> Vec<u8> {
    let mut lead = Bits::default();
    if bits % 2 == 1 {
        lead.empty_dynamic_block();
    }
    while lead.count % 8 != usize::from(bits) {
        lead.empty_fixed_block();
    }
    if let Some(last) = lead.bytes.last_mut() {
        *last |= first & (0xff << bits);
    }
    lead.bytes
}

/// Returns the bytes that end the stream where, and only where, a block begins at this bit of the
/// byte: the byte's bits before it, and a final empty stored block.
pub(super) fn proof(first: u8, bits: u8) -> Vec<u8> {
    /// Bits of the header of a stored block.
    const HEADER_BITS: u8 = 3;
    let before = first & !(0xff << bits);
    let mut bytes = vec![before | 1 << bits];
    if bits + HEADER_BITS > 8 {
        bytes.push(0);
    }
    bytes.extend_from_slice(&[0, 0, 0xff, 0xff]);
    bytes
}

/// Bits, from the lowest of each byte on.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn put(&mut self, value: u32, count: usize) {
        for place in 0..count {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value >> place & 1) as u8) << (self.count % 8);
            }
            self.count += 1;
        }
    }

    /// Adds a block of 10 bits, RFC 1951, 3.2.6.
    fn empty_fixed_block(&mut self) {
        self.put(0b010, 3);
        self.put(0, 7);
    }

    /// Adds a block of 93 bits, because no number of the others is odd, RFC 1951, 3.2.7.
    fn empty_dynamic_block(&mut self) {
        /// Places of the lengths of the codes for 18 and for 1, of 19.
        const CODED: [usize; 2] = [2, 17];
        self.put(0b100, 3);
        // 257 codes for literals, one for distances, and all 19 for lengths.
        self.put(0, 5 + 5);
        self.put(15, 4);
        for place in 0..19 {
            self.put(u32::from(CODED.contains(&place)), 3);
        }
        // No code for 138 and 118 symbols, then one of one bit for the end and for a distance.
        for zeros in [138, 118] {
            self.put(1, 1);
            self.put(zeros - 11, 7);
        }
        self.put(0, 2);
        self.put(0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gzip::inflate::{StreamEnd, inflate, raw_inflate};

    #[test]
    fn the_leads_are_blocks_and_as_long_as_the_bits_they_replace() {
        for bits in 1..8 {
            let lead = lead(0, bits);
            // What follows begins at the bit, as `proof` has it.
            let (last, before) = lead.split_last().unwrap();
            let all = [before, &proof(*last, bits)].concat();
            let did = inflate(&mut raw_inflate(), &all, &mut [0]);
            assert_eq!((did.end, did.produced), (StreamEnd::Final, 0), "{bits}");
            assert_eq!(did.consumed, all.len(), "{bits}");
        }
    }

    #[test]
    fn the_last_bytes_are_kept_however_they_come() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at / 7 % 251) as u8).collect();
        for step in [1, 1000, 40_000, 300_000] {
            let mut recent = Recent::default();
            bytes.chunks(step).for_each(|part| recent.add(part));
            assert!(bytes.ends_with(recent.last(u64::MAX)), "{step}");
            assert_eq!((recent.last(u64::MAX).len(), recent.last(5).len()), (WINDOW_BYTES, 5));
        }
    }
}
