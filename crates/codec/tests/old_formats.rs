//! The formats before gzip.

use haul_codec::{Damage, DecodeError};

use crate::support::decoded;

#[test]
fn packed_data_are_read() {
    let packed = [0x1f, 0x1e, 0, 0, 0, 6, 3, 1, 1, 0, b'a', b'n', b'b', 0x16, 0xc8];
    assert_eq!(decoded(&packed, 1).unwrap().0, b"banana");
    let mut short = packed;
    short[5] = 7;
    assert!(matches!(decoded(&short, 1), Err(DecodeError::Data(Damage::Length))));
    let mut deep = packed;
    deep[6] = 26;
    assert!(matches!(decoded(&deep, 1), Err(DecodeError::Data(Damage::CodeLength))));
}

/// Compresses as `compress` does, with codes of 9 bits and one that clears the table: enough for
/// fewer than 256 new strings between two of these.
fn lzw(data: &[u8], clear_every: usize) -> Vec<u8> {
    let mut codes = Vec::new();
    for part in data.chunks(clear_every) {
        let mut strings: std::collections::HashMap<Vec<u8>, u32> =
            (0..256).map(|byte| (vec![byte as u8], byte)).collect();
        let mut current = Vec::new();
        for byte in part {
            let mut longer = current.clone();
            longer.push(*byte);
            if strings.contains_key(&longer) {
                current = longer;
                continue;
            }
            codes.push(strings[&current]);
            strings.insert(longer, 257 + (strings.len() as u32 - 256));
            current = vec![*byte];
        }
        codes.push(strings[&current]);
        // The code that clears the table ends its group of eight.
        codes.push(256);
        while codes.len() % 8 != 0 {
            codes.push(0);
        }
    }
    let mut bytes = vec![0x1f, 0x9d, 0x90];
    for group in codes.chunks(8) {
        let bits = group.iter().rev().fold(0_u128, |bits, code| bits << 9 | u128::from(*code));
        bytes.extend_from_slice(&bits.to_le_bytes()[..9]);
    }
    bytes
}

#[test]
fn data_of_compress_are_read() {
    let data = b"to be or not to be, that is the question; aaaaaaaaaaaaaaaa".repeat(20);
    let (found, summary) = decoded(&lzw(&data, 150), 1).unwrap();
    assert_eq!(found, data);
    assert_eq!(summary.last_bytes, data.len() as u64);
}

#[test]
fn an_older_format_behind_gzip_is_refused() {
    let gz = crate::support::foreign(b"data", 6);
    for second in [0x1e, 0x9d, 0xa0] {
        let found = decoded(&[&gz[..], &[0x1f, second, 0]].concat(), 1);
        assert!(matches!(found, Err(DecodeError::Data(Damage::OtherFormat))), "{found:?}");
    }
}

#[test]
fn a_code_that_stands_for_nothing_is_refused() {
    // Two literals, and a code far beyond.
    let bits = 97_u32 | 98 << 9 | 400 << 18;
    let bytes = [&[0x1f, 0x9d, 0x90][..], &bits.to_le_bytes()].concat();
    assert!(matches!(decoded(&bytes, 1), Err(DecodeError::Data(Damage::Code))));
    let wide = [0x1f, 0x9d, 0x91];
    assert!(matches!(decoded(&wide, 1), Err(DecodeError::Data(Damage::CodeBits(17)))));
}

#[test]
fn the_first_entry_of_an_archive_is_read() {
    let data = b"stored";
    let entry = |method: u8, check: u32, data: &[u8]| {
        let mut bytes = b"PK\x03\x04\x14\0\0\0".to_vec();
        bytes.extend_from_slice(&[method, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes.extend_from_slice(&(data.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&6_u32.to_le_bytes());
        bytes.extend_from_slice(&[1, 0, 0, 0, b'n']);
        bytes.extend_from_slice(data);
        bytes
    };
    let check = crc32fast::hash(data);
    let one = entry(0, check, data);
    assert_eq!(decoded(&one, 1).unwrap().0, data);
    let two = [one.clone(), one].concat();
    assert!(decoded(&two, 1).unwrap().1.has_more_entries);
    assert!(matches!(
        decoded(&entry(0, check ^ 1, data), 1),
        Err(DecodeError::Data(Damage::Checksum))
    ));
    assert!(matches!(
        decoded(&entry(9, check, data), 1),
        Err(DecodeError::Data(Damage::ZipMethod))
    ));
}
