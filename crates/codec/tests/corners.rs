//! The corners of RFC 1952 that the tests of zlib and pigz visit: each field of a header, each kind
//! of block, each place where a stream may end or be damaged. The judge is flate2.

use haul_codec::{Cut, Damage, DecodeError, DecodePlan, Decoder, Trailing};

use crate::support::{decoded, encoded, foreign, judged, noise, words};

const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

/// Bytes behind the data of a member.
const TRAILER_BYTES: usize = 8;

/// Bytes of the header that flate2 writes.
const HEADER_BYTES: usize = 10;

/// The empty member that ends a file of `bgzip`, from the specification of SAM.
const BGZF_END: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// Returns a member with the optional fields of these flags.
fn member(data: &[u8], flags: u8) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
    if flags & EXTRA != 0 {
        bytes.extend_from_slice(&[6, 0, b'h', b'l', 2, 0, 0x1f, 0x8b]);
    }
    if flags & NAME != 0 {
        bytes.extend_from_slice(b"name \xff\n\0");
    }
    if flags & COMMENT != 0 {
        bytes.extend_from_slice(b"a comment\0");
    }
    if flags & HEADER_CRC != 0 {
        let crc = crc(&bytes) as u16;
        bytes.extend_from_slice(&crc.to_le_bytes());
    }
    bytes.extend_from_slice(&foreign(data, 6)[HEADER_BYTES..]);
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns a member as `bgzip` writes it.
fn bgzf(data: &[u8]) -> Vec<u8> {
    let mut bytes = member(data, EXTRA);
    let size = (bytes.len() - 1) as u16;
    bytes[12..16].copy_from_slice(b"BC\x02\0");
    bytes[16..18].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Returns the type of the first block of a member without optional fields.
fn block_type(member: &[u8]) -> u8 {
    member[HEADER_BYTES] >> 1 & 3
}

/// What a stream is, the stream, its data, its members, and what follows them.
type Shape = (&'static str, Vec<u8>, Vec<u8>, u64, Trailing);

#[test]
fn streams_of_every_shape_are_read() {
    let text = words(200_000, 3);
    let empty = member(b"", 0);
    let many: Vec<u8> = text.chunks(777).flat_map(|part| member(part, 0)).collect();
    let blocked: Vec<u8> =
        text.chunks(60_000).map(bgzf).chain([BGZF_END.to_vec()]).flatten().collect();
    let table: [Shape; 11] = [
        ("an empty member", empty.clone(), vec![], 1, Trailing::Nothing),
        ("empty members", empty.repeat(300), vec![], 300, Trailing::Nothing),
        ("our empty file", encoded(b"", 6, 2, Cut::Even), vec![], 1, Trailing::Nothing),
        ("one byte", member(b"x", 0), b"x".to_vec(), 1, Trailing::Nothing),
        ("many members", many, text.clone(), 258, Trailing::Nothing),
        (
            "empty members between others",
            [&empty[..], &member(b"a", 0), &empty, &member(b"b", 0), &empty].concat(),
            b"ab".to_vec(),
            5,
            Trailing::Nothing,
        ),
        ("bgzip", blocked, text.clone(), 5, Trailing::Nothing),
        ("bgzip of nothing", BGZF_END.to_vec(), vec![], 1, Trailing::Nothing),
        ("one zero", [member(b"a", 0), vec![0]].concat(), b"a".to_vec(), 1, Trailing::Zeros),
        (
            "zeros as on a tape",
            [member(&text, 0), vec![0; 600_000]].concat(),
            text.clone(),
            1,
            Trailing::Zeros,
        ),
        (
            "garbage",
            [member(&text, 0), b"garbage".to_vec()].concat(),
            text.clone(),
            1,
            Trailing::Garbage,
        ),
    ];
    for (what, gz, data, members, trailing) in table {
        for jobs in [1, 2, 3] {
            let (found, summary) = decoded(&gz, jobs).unwrap();
            assert!(found == data, "{what}, {jobs} jobs");
            assert_eq!((summary.members, summary.trailing), (members, trailing), "{what}");
            assert_eq!(summary.bytes_out, data.len() as u64, "{what}");
        }
        if trailing == Trailing::Nothing {
            assert!(judged(&gz).unwrap() == data, "{what}");
        }
    }
}

#[test]
fn every_combination_of_optional_fields_is_read() {
    let data = words(5000, 4);
    for flags in 0..32_u8 {
        let gz = member(&data, flags);
        let mut decoder = Decoder::new(
            std::io::Cursor::new(gz.clone()),
            DecodePlan { jobs: 2, ..DecodePlan::default() },
        );
        let header = decoder.start().unwrap().header.unwrap();
        let name = (flags & NAME != 0).then(|| b"name \xff\n".to_vec());
        assert_eq!((header.name, header.doubt), (name, None), "flags {flags}");
        assert_eq!(header.extra_bytes, (flags & EXTRA != 0).then_some(6), "flags {flags}");
        let twice = [&gz[..], &gz].concat();
        assert!(decoded(&twice, 2).unwrap().0 == data.repeat(2), "flags {flags}");
        assert!(judged(&twice).unwrap() == data.repeat(2), "flags {flags}");
    }
}

#[test]
fn a_wrong_header_check_sum_is_told_of_the_first_and_refused_in_others() {
    let data = b"data";
    for flags in (0..32).filter(|flags| flags & HEADER_CRC != 0) {
        let mut wrong = member(data, flags);
        let at = wrong.len() - (foreign(data, 6).len() - HEADER_BYTES) - 2;
        wrong[at] ^= 1;
        let mut decoder = Decoder::new(std::io::Cursor::new(wrong.clone()), DecodePlan::default());
        let doubt = decoder.start().unwrap().header.unwrap().doubt;
        assert!(matches!(doubt, Some(Damage::HeaderChecksum(..))), "flags {flags}: {doubt:?}");
        for jobs in [1, 2] {
            let second = decoded(&[member(data, 0), wrong.clone()].concat(), jobs);
            assert!(
                matches!(second, Err(DecodeError::Data(Damage::HeaderChecksum(..)))),
                "flags {flags}: {second:?}"
            );
        }
    }
}

#[test]
fn a_stream_that_ends_anywhere_yields_whole_members_or_an_error() {
    let data = words(300, 5);
    let members = [member(&data, 31), member(b"", 0), bgzf(b"block"), member(b"end", HEADER_CRC)];
    let whole = members.concat();
    let mut ends = Vec::new();
    for member in &members {
        ends.push(ends.last().copied().unwrap_or(0) + member.len());
    }
    for length in 0..whole.len() {
        for jobs in [1, 2] {
            let found = decoded(&whole[..length], jobs);
            if ends.contains(&length) {
                assert!(found.unwrap().0 == judged(&whole[..length]).unwrap(), "{length} bytes");
            } else {
                let is_end = matches!(found, Err(DecodeError::Data(Damage::UnexpectedEnd)));
                assert!(is_end, "{length} bytes: {found:?}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_never_yields_other_data() {
    let data = words(260, 6);
    let made = [
        ("stored", foreign(&data, 0)),
        ("dynamic", foreign(&data, 9)),
        ("fixed", foreign(b"aaaaab", 9)),
        ("all fields", member(&data, 31)),
        ("ours", encoded(&data, 6, 1, Cut::Even)),
        ("ours, several blocks", encoded(&data.repeat(40), 1, 1, Cut::ByContent)),
    ];
    for (what, gz) in made {
        let right = judged(&gz).unwrap();
        let (mut refused, mut tolerated) = (0, 0);
        for bit in 0..8 * gz.len() {
            let mut wrong = gz.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let found = decoded(&wrong, 2);
            let judge = judged(&wrong);
            match (&found, &judge) {
                (Ok((found, _)), _) => {
                    assert!(*found == right, "{what}, bit {bit}");
                    tolerated += 1;
                }
                // The judge knows no flag of encrypted members.
                (Err(DecodeError::Data(Damage::Encrypted)), _) | (Err(_), Err(_)) => refused += 1,
                (Err(error), Ok(_)) => {
                    panic!("{what}, bit {bit}: only the judge reads it: {error}")
                }
            }
        }
        // What nothing protects: time, level, system, the flags of text, names and comments.
        let unprotected = 8 * (HEADER_BYTES + if what == "all fields" { 40 } else { 0 });
        assert!(tolerated <= unprotected, "{what}: {tolerated} of {} bits", 8 * gz.len());
        assert!(refused >= 8 * (gz.len() - TRAILER_BYTES) - unprotected, "{what}: {refused}");
    }
}

#[test]
fn blocks_of_every_type_and_sizes_around_a_stored_block_survive() {
    let random = noise(200, 1);
    for (level, data, kind) in
        [(0, &b"stored"[..], 0), (9, b"aaaaaaaaaaaa", 1), (9, &words(4000, 1), 2), (9, &random, 0)]
    {
        let gz = foreign(data, level);
        assert_eq!(block_type(&gz), kind, "{} bytes at level {level}", data.len());
        assert!(decoded(&gz, 2).unwrap().0 == data);
    }
    for around in [1 << 15, 1 << 16, 1 << 18] {
        for size in around - 1..=around + 1 {
            for data in [words(size, 7), noise(size, 7), vec![0; size]] {
                for level in [0, 1, 6, 9] {
                    let gz = foreign(&data, level);
                    assert!(decoded(&gz, 2).unwrap().0 == data, "{size} at level {level}");
                }
                for level in [1, 6, 9] {
                    let ours = encoded(&data, level, 2, Cut::Even);
                    assert!(judged(&ours).unwrap() == data, "{size} at level {level}");
                }
            }
        }
    }
}

#[test]
fn what_is_no_stream_is_refused() {
    let table: [(&[u8], Damage); 6] = [
        (b"", Damage::UnexpectedEnd),
        (b"\x1f", Damage::UnexpectedEnd),
        (b"\x1f\x8b", Damage::UnexpectedEnd),
        (b"plain text", Damage::UnknownFormat),
        (b"\0\0\0\0", Damage::UnknownFormat),
        (b"\x1f\x8b\x09\0\0\0\0\0\0\x03", Damage::Method(9)),
    ];
    for (bytes, damage) in table {
        match decoded(bytes, 2) {
            Err(DecodeError::Data(found)) => assert_eq!(found, damage, "{bytes:?}"),
            other => panic!("{bytes:?}: {other:?}"),
        }
    }
}
