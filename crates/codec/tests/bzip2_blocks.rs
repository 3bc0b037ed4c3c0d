//! Blocks of bzip2 by several workers: the same data and the same errors as in order, whatever the stream.

use std::io::{Cursor, Write as _};

use bzip2::Compression;
use bzip2::write::BzEncoder;
use haul_codec::{DecodePlan, Decoder, Format};

use crate::support::{noise, words};

const MAGIC: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;

fn packed(data: &[u8], level: u32) -> Vec<u8> {
    let mut writer = BzEncoder::new(Vec::new(), Compression::new(level));
    writer.write_all(data).unwrap();
    writer.finish().unwrap()
}

/// Returns the data that precede the end or an error, and the error.
fn read(stream: &[u8], jobs: usize) -> (Vec<u8>, Option<String>) {
    let plan = DecodePlan { jobs, ..DecodePlan::default() };
    let mut decoder = Decoder::of(Cursor::new(stream.to_vec()), plan, Format::Bzip2);
    let mut all = Vec::new();
    loop {
        match decoder.next_piece() {
            Ok(Some(piece)) => all.extend_from_slice(&piece),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error.to_string())),
        }
    }
}

fn demand_equal(stream: &[u8], context: &str) {
    let expected = read(stream, 1);
    for jobs in [2, 3, 8] {
        let found = read(stream, jobs);
        assert_eq!(found.1, expected.1, "{context}, {jobs} jobs");
        let lengths = (found.0.len(), expected.0.len());
        assert!(found.0 == expected.0, "{context}, {jobs} jobs: {lengths:?}");
    }
}

#[test]
fn streams_of_any_blocks_are_read() {
    let long_runs = vec![7; 60 << 20];
    for data in [&[][..], b"x", &words(99_000, 1), &words(1_000_000, 2), &noise(450_000, 3)] {
        let stream = packed(data, 1);
        assert!(read(&stream, 3) == (data.to_vec(), None), "{} bytes", data.len());
        // As pbzip2 writes them, and with what is no stream behind them.
        let several = [&stream[..], &packed(b"", 5), &packed(&words(250_000, 4), 2)].concat();
        demand_equal(&several, "several streams");
        for behind in [&b"B"[..], b"BZ", b"BZh9", b"BZh91AY&S", b"BZh9garbage, more of it", b"\0"] {
            demand_equal(&[&several[..], behind].concat(), &format!("{behind:?} behind them"));
        }
    }
    assert!(read(&packed(&long_runs, 9), 2) == (long_runs, None));
    for beginning in [&b""[..], b"BZh", b"BZh91AY&SY", b"BZh9 no block", b"no stream"] {
        demand_equal(beginning, &format!("{beginning:?}"));
    }
}

#[test]
fn damaged_and_cut_streams_fail_as_in_order() {
    let stream = [packed(&words(700_000, 5), 1), packed(&noise(150_000, 6), 1)].concat();
    let step = stream.len() / 40;
    for at in (0..stream.len()).step_by(step).chain(stream.len() - 12..stream.len()) {
        demand_equal(&stream[..at], &format!("cut at {at}"));
        let mut damaged = stream.clone();
        damaged[at] ^= 0x10;
        // In order, damaged codes may be read beyond their block: then the stream ends too early.
        let (expected, found) = (read(&damaged, 1), read(&damaged, 3));
        assert_eq!(found.1.is_some(), expected.1.is_some(), "damaged at {at}");
        assert!(found.0 == expected.0, "damaged at {at}");
    }
}

/// Bits, first to last.
fn bits(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect()
}

fn number(bits: &[u8]) -> u64 {
    bits.iter().fold(0, |number, bit| number << 1 | u64::from(*bit))
}

/// Puts these 48 bits into the first block: as selectors that no code uses, of which a block may have any number.
fn with_selectors(stream: &[u8], magic: u64) -> Vec<u8> {
    let mut bits = bits(stream);
    // Behind the stream's header: magic number, check sum, one bit, and the position of the data.
    let map = 32 + 48 + 32 + 1 + 24;
    let used = bits[map..map + 16].iter().filter(|bit| **bit == 1).count();
    let groups = map + 16 + 16 * used;
    assert!(number(&bits[groups..groups + 3]) >= 3, "selectors have up to two ones");
    let count = number(&bits[groups + 3..groups + 18]);
    let mut at = groups + 18;
    for _ in 0..count {
        at += bits[at..].iter().position(|bit| *bit == 0).unwrap() + 1;
    }
    let mut inserted: Vec<u8> = (0..48).rev().map(|bit| u8::from(magic >> bit & 1 == 1)).collect();
    inserted.push(0);
    let more = inserted.iter().filter(|bit| **bit == 0).count() as u64;
    for bit in 0..15 {
        bits[groups + 3 + bit] = u8::from((count + more) >> (14 - bit) & 1 == 1);
    }
    bits.splice(at..at, inserted);
    // Behind the last stream, bits that fill the byte are ignored.
    bits.resize(bits.len().next_multiple_of(8), 0);
    bits.chunks(8).map(|byte| u8::try_from(number(byte)).unwrap()).collect()
}

#[test]
fn a_magic_number_within_a_block_splits_nothing() {
    let data = noise(250_000, 7);
    let stream = packed(&data, 1);
    // The end of the stream has its own magic number; six ones in a row would be no selectors.
    for magic in [MAGIC, END] {
        let hidden = with_selectors(&stream, magic);
        let hidden = &hidden[..hidden.len() - usize::from(hidden.last() == Some(&0))];
        assert!(read(hidden, 1).0 == data, "the library accepts more selectors");
        demand_equal(hidden, &format!("{magic:x} in a block"));
        demand_equal(&hidden[..hidden.len() - 20], "and the end is cut off");
        let mut damaged = hidden.to_vec();
        damaged[hidden.len() / 2] ^= 1;
        demand_equal(&damaged, "and another block is damaged");
        let mut damaged = hidden.to_vec();
        damaged[5_000] ^= 1;
        demand_equal(&damaged, "and this block is damaged");
    }
}
