//! Finds the last block of a deflate stream, to make it one that others follow.
//!
//! libdeflate ends every stream that it makes with a block that has the flag "final". Where that
//! block begins is not known without reading the stream, so this reads it, without its bytes: the
//! codes alone, which takes much less time than compressing them. It is for streams that
//! libdeflate made a moment ago; a stream that it cannot read is an error, never a panic.

/// Order of the lengths of the codes for code lengths, RFC 1951, 3.2.7.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The longest code, RFC 1951.
const CODE_BITS_MAX: usize = 15;

const END_OF_BLOCK: u16 = 256;

/// The last block of a stream, in bits from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    /// The bit that says that no block follows.
    pub(super) flag_bit: usize,
    /// The first bit behind the block.
    pub(super) end_bit: usize,
}

/// Finds the last block; `None` if these bytes are no deflate stream.
pub(super) fn find(stream: &[u8]) -> Option<Last> {
    let mut bits = Bits { bytes: stream, at: 0 };
    loop {
        let flag_bit = bits.at;
        let is_final = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => {
                bits.at = bits.at.next_multiple_of(8);
                let length = bits.take(16)? as usize;
                bits.take(16)?;
                bits.at += 8 * length;
            }
            1 => skip_codes(&mut bits, &fixed()?)?,
            2 => {
                let codes = dynamic(&mut bits)?;
                skip_codes(&mut bits, &codes)?;
            }
            _ => return None,
        }
        if bits.at > 8 * stream.len() {
            return None;
        }
        if is_final {
            return Some(Last { flag_bit, end_bit: bits.at });
        }
    }
}

/// Bits of a stream, from the lowest of each byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// Returns the next 57 bits or more, with zeros behind the end.
    fn peek(&self) -> u64 {
        let first = self.at / 8;
        let word = match self.bytes.get(first..first + 8) {
            Some(bytes) => bytes.try_into().map_or(0, u64::from_le_bytes),
            None => {
                let rest = self.bytes.get(first..).unwrap_or(&[]);
                rest.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
            }
        };
        word >> (self.at % 8)
    }

    fn take(&mut self, count: usize) -> Option<u64> {
        let value = self.peek() & ((1 << count) - 1);
        self.at += count;
        (self.at <= 8 * self.bytes.len()).then_some(value)
    }
}

/// A code: for each pattern of bits the symbol and the length, `symbol << 4 | length`.
struct Code {
    table: Vec<u16>,
    bits: usize,
}

impl Code {
    /// Makes the code with these lengths, RFC 1951, 3.2.2.
    fn new(lengths: &[u8]) -> Option<Code> {
        let bits = usize::from(lengths.iter().copied().max()?).max(1);
        let mut counts = [0_u32; CODE_BITS_MAX + 1];
        for length in lengths.iter().filter(|length| **length > 0) {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        let mut next = [0_u32; CODE_BITS_MAX + 2];
        for length in 1..=CODE_BITS_MAX {
            next[length + 1] = (next[length] + counts[length]) << 1;
        }
        let mut table = vec![0; 1 << bits];
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let length = usize::from(*length);
            let code = next.get_mut(length)?;
            let reversed = (code.reverse_bits() >> (32 - length)) as usize;
            *code += 1;
            let entry = u16::try_from(symbol << 4 | length).ok()?;
            for slot in table.get_mut(reversed..)?.iter_mut().step_by(1 << length) {
                *slot = entry;
            }
        }
        Some(Code { table, bits })
    }

    /// Returns the symbol that these bits begin with, and its length.
    fn symbol(&self, bits: u64) -> Option<(u16, usize)> {
        let entry = *self.table.get((bits & ((1 << self.bits) - 1)) as usize)?;
        (entry != 0).then_some((entry >> 4, usize::from(entry & 15)))
    }
}

/// The two codes of a block.
struct Codes {
    literals: Code,
    distances: Code,
}

fn fixed() -> Option<Codes> {
    let mut lengths = [8; 288];
    lengths.get_mut(144..256)?.fill(9);
    lengths.get_mut(256..280)?.fill(7);
    Some(Codes { literals: Code::new(&lengths)?, distances: Code::new(&[5; 30])? })
}

/// Tells whether data begin with a block whose code lengths have no code: no data can follow.
pub(super) fn has_no_code(data: &[u8]) -> bool {
    let mut bits = Bits { bytes: data, at: 1 };
    let read = |bits: &mut Bits<'_>| {
        let kind = bits.take(2)?;
        bits.take(10)?;
        let count = bits.take(4)? + 4;
        let mut any = 0;
        for _ in 0..count {
            any |= bits.take(3)?;
        }
        Some(kind == 2 && any == 0)
    };
    read(&mut bits) == Some(true)
}

fn dynamic(bits: &mut Bits<'_>) -> Option<Codes> {
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    let mut lengths = [0; 19];
    for place in ORDER.iter().take(count) {
        *lengths.get_mut(*place)? = bits.take(3)? as u8;
    }
    let code = Code::new(&lengths)?;
    let mut lengths: Vec<u8> = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (symbol, length) = code.symbol(bits.peek())?;
        bits.take(length)?;
        let (value, times) = match symbol {
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            length => (length as u8, 1),
        };
        lengths.extend(std::iter::repeat_n(value, times as usize));
    }
    let (literals, distances) = lengths.split_at_checked(literals)?;
    Some(Codes { literals: Code::new(literals)?, distances: Code::new(distances)? })
}

/// Reads codes up to the end of their block.
fn skip_codes(bits: &mut Bits<'_>, codes: &Codes) -> Option<()> {
    let most = 8 * bits.bytes.len();
    while bits.at <= most {
        // A length, its extra bits, a distance and its extra bits are 48 bits at most.
        let word = bits.peek();
        let (symbol, length) = codes.literals.symbol(word)?;
        bits.at += length;
        if symbol < END_OF_BLOCK {
            continue;
        }
        if symbol == END_OF_BLOCK {
            return Some(());
        }
        let extra = length_extra(usize::from(symbol));
        let (distance, more) = codes.distances.symbol(word >> (length + extra))?;
        bits.at += extra + more + (usize::from(distance) / 2).saturating_sub(1);
    }
    None
}

/// Returns the number of extra bits of a length, RFC 1951, 3.2.5.
fn length_extra(symbol: usize) -> usize {
    match symbol {
        265..285 => (symbol - 261) / 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extra_bits_are_those_of_the_standard() {
        let lengths: Vec<usize> = (257..=285).map(length_extra).collect();
        let standard =
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
        assert_eq!(lengths, standard);
    }

    #[test]
    fn an_empty_stream_is_one_fixed_block() {
        assert_eq!(find(&[3, 0]), Some(Last { flag_bit: 0, end_bit: 10 }));
    }

    #[test]
    fn a_block_without_codes_is_hopeless() {
        assert!(has_no_code(&[0x64, 0, 0, 0]));
        assert!(!has_no_code(&[0x64, 0, 0]), "more may follow");
        assert!(!has_no_code(&[0x64, 0, 0, 4]));
        assert!(!has_no_code(&[0, 0, 0, 0]), "a stored block");
    }

    #[test]
    fn bytes_that_are_no_stream_are_refused() {
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[7]), None, "block type 3");
        assert_eq!(find(&[1, 9, 0, 0xf6, 0xff, 1]), None, "a stored block that is cut off");
        assert_eq!(find(&[3]), None, "a fixed block that is cut off");
        assert_eq!(find(&[5, 0xff, 0xff, 0xff, 0xff]), None, "an impossible code");
    }

    #[test]
    fn a_stored_block_is_skipped_to_the_final_one() {
        let stream = [0, 2, 0, 0xfd, 0xff, b'a', b'b', 1, 0, 0, 0xff, 0xff];
        assert_eq!(find(&stream), Some(Last { flag_bit: 56, end_bit: 96 }));
    }
}
