//! What is odd in an input: a row of the table that holds only for such inputs hides no other finding.

use super::mutate::{BLOCK, is_header};

/// The fields of a tar header that a property asks for.
const SIZE: std::ops::Range<usize> = 124..136;
const KIND: usize = 156;
const LINK: usize = 157;

/// The first bytes of a frame of Zstandard.
const FRAME: &[u8] = b"\x28\xb5\x2f\xfd";

/// Whether an input is any: the row holds for all.
pub(super) fn anything(_input: &[u8]) -> bool {
    true
}

/// Returns whether an archive has a size with a space between its digits.
pub(super) fn has_split_size(input: &[u8]) -> bool {
    headers(input).any(|at| {
        let text = input[at..][SIZE].split(|byte| *byte == 0).next().unwrap_or_default();
        let text = text.trim_ascii();
        text.contains(&b' ') && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ')
    })
}

/// Returns whether an archive has an extended header whose text begins with a NUL.
pub(super) fn has_empty_records(input: &[u8]) -> bool {
    headers(input).any(|at| {
        matches!(input[at + KIND], b'x' | b'X' | b'g') && input.get(at + BLOCK) == Some(&0)
    })
}

/// Returns whether an archive has a hard link to nothing.
pub(super) fn has_link_to_nothing(input: &[u8]) -> bool {
    headers(input).any(|at| input[at + KIND] == b'1' && input[at + LINK] == 0)
}

/// Returns the offsets of the headers of an archive.
fn headers(input: &[u8]) -> impl Iterator<Item = usize> {
    (0..input.len() / BLOCK).map(|block| block * BLOCK).filter(|at| is_header(&input[*at..]))
}

/// Returns whether a stream has a block whose sequences have bits that RFC 8878 reserves (3.1.1.3.2.1).
pub(super) fn has_reserved_bits(input: &[u8]) -> bool {
    let mut at = 0;
    while let Some(frame) = input.get(at..).filter(|rest| rest.starts_with(FRAME)) {
        match blocks(frame) {
            Some((_, true)) => return true,
            Some((bytes, false)) => at += bytes,
            None => return false,
        }
    }
    false
}

/// Returns the bytes of a frame up to the end of its last block and its sum, or up to a block with reserved bits;
/// and whether that was one.
fn blocks(frame: &[u8]) -> Option<(usize, bool)> {
    let descriptor = *frame.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    let size = match descriptor >> 6 {
        0 => usize::from(is_single),
        power => 1 << power,
    };
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let mut at = 5 + usize::from(!is_single) + dictionary + size;
    loop {
        let header = little_endian(frame.get(at..at + 3)?);
        let (kind, bytes) = (header >> 1 & 3, header >> 3);
        let bytes = if kind == 1 { 1 } else { bytes };
        let body = frame.get(at + 3..at + 3 + bytes)?;
        at += 3 + bytes;
        if kind == 2 && modes_of_sequences(body).is_some_and(|modes| modes & 3 != 0) {
            return Some((at, true));
        }
        if header & 1 == 1 {
            return Some((at + if descriptor & 4 != 0 { 4 } else { 0 }, false));
        }
    }
}

/// Returns the byte behind the number of sequences of a compressed block, if it has any.
fn modes_of_sequences(block: &[u8]) -> Option<u8> {
    let first = usize::from(*block.first()?);
    let format = first >> 2 & 3;
    // Bytes of the header of the literals, and of what follows it.
    let (header, literals) = match (first & 3, format) {
        (kind @ (0 | 1), _) => {
            let header = [1, 2, 1, 3][format];
            let number = little_endian(block.get(..header)?);
            let count = number >> if header == 1 { 3 } else { 4 };
            (header, if kind == 1 { 1 } else { count })
        }
        (_, 0 | 1) => (3, little_endian(block.get(..3)?) >> 14),
        (_, 2) => (4, little_endian(block.get(..4)?) >> 18),
        _ => (5, little_endian(block.get(..5)?) >> 22),
    };
    let sequences = block.get(header + literals..)?;
    let count = match *sequences.first()? {
        0 => return None,
        1..128 => 1,
        128..255 => 2,
        255 => 3,
    };
    sequences.get(count).copied()
}

fn little_endian(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::mutate::seal;

    fn header(at: usize, field: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[0] = b'a';
        block[at..at + field.len()].copy_from_slice(field);
        seal(&mut block);
        block
    }

    #[test]
    fn a_size_is_split_by_a_space_between_digits() {
        for (text, is_split) in [
            (&b"00000001 00\0"[..], true),
            (b" 0000000100 ", false),
            (b"00000001\0 00", false),
            (b"0000 x\0", false),
        ] {
            assert_eq!(has_split_size(&header(SIZE.start, text)), is_split, "{text:?}");
        }
    }

    #[test]
    fn records_are_empty_before_a_nul_only() {
        let extended = header(KIND, b"g");
        assert!(has_empty_records(&[&extended[..], &[0; BLOCK]].concat()));
        assert!(!has_empty_records(&[&extended[..], &[b'1'; BLOCK]].concat()));
        assert!(!has_empty_records(&[header(KIND, b"0"), vec![0; BLOCK]].concat()));
    }

    #[test]
    fn a_link_to_nothing_is_a_hard_link_without_a_target() {
        assert!(has_link_to_nothing(&header(KIND, b"1")));
        assert!(!has_link_to_nothing(&header(KIND, b"1a")));
        assert!(!has_link_to_nothing(&header(KIND, b"2")));
    }

    #[test]
    fn reserved_bits_are_found_in_the_streams_of_seeds_that_found_them() {
        // The stream of seed 800459629580, and what it was before a bit of it was changed.
        const CHANGED: &[u8] = b"\x28\xb5\x2f\xfd\x04\x48\xa5\x02\x00\xa4\x03plain\x000000644\x000\x000\x0001\x00\
            15302336613\x00010573\x00 0\x00ustar  \x00root\x00x\x00\x09\x01\xfb\x81\x1f\x69\x80\x8a\xa1p\x00\x84\
            \x1f\x00\xd2\x00\xba\x81\xd1\xc0\x20\x77\x02p\x99\x9c9x";
        assert_eq!(CHANGED.len(), 97);
        assert!(has_reserved_bits(CHANGED));
        let mut whole = CHANGED.to_vec();
        whole[0x46] = 0;
        assert!(!has_reserved_bits(&whole));
        assert!(has_reserved_bits(&[&whole[..], CHANGED].concat()));
        assert!(!has_reserved_bits(&CHANGED[..60]));
        assert!(!has_reserved_bits(b"noise"));
    }
}
