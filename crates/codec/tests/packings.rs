//! zstd, xz, lzma and bzip2: round trips, equal bytes for all jobs, damage, other writers' streams.

use std::io::{Cursor, Read as _, Write as _};

use haul_codec::{
    Damage, DecodeError, DecodePlan, Decoder, Encoder, Format, Memory, Packing, Summary, Trailing,
};
use proptest::prelude::*;

use crate::support::{noise, words};

const FRAME: usize = 64 << 10;

const SMALL: Packing = Packing::Zstd { frame_bytes: FRAME as u64 };

const PACKINGS: [(Packing, Format); 4] = [
    (SMALL, Format::Zstd),
    (Packing::Zstd { frame_bytes: 0 }, Format::Zstd),
    (Packing::Xz, Format::Xz),
    (Packing::Lzma, Format::Lzma),
];

fn packed(data: &[u8], packing: Packing, jobs: usize) -> Vec<u8> {
    let mut encoder = Encoder::packing(Vec::new(), packing, jobs);
    for part in data.chunks(100_003) {
        encoder.write_all(part).unwrap();
    }
    let (sink, totals) = encoder.finish().unwrap();
    assert_eq!((totals.bytes_in, totals.bytes_out), (data.len() as u64, sink.len() as u64));
    sink
}

fn unpacked(bytes: &[u8], format: Format, jobs: usize) -> Result<(Vec<u8>, Summary), DecodeError> {
    unpacked_within(bytes, format, jobs, Memory::default())
}

fn unpacked_within(
    bytes: &[u8],
    format: Format,
    jobs: usize,
    memory: Memory,
) -> Result<(Vec<u8>, Summary), DecodeError> {
    let plan = DecodePlan { jobs, memory, ..DecodePlan::default() };
    let mut decoder = Decoder::of(Cursor::new(bytes.to_vec()), plan, format);
    // A frame that a worker decompresses is one piece; those of the tests have 1 MiB at most.
    let most = if format == Format::Zstd { 1 << 20 } else { 256 << 10 };
    let mut all = Vec::new();
    while let Some(piece) = decoder.next_piece()? {
        assert!(!piece.is_empty() && piece.len() <= most);
        all.extend_from_slice(&piece);
    }
    Ok((all, decoder.summary()))
}

/// What the libraries' own readers make of it.
fn judged(bytes: &[u8], format: Format) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    match format {
        Format::Zstd => zstd::stream::read::Decoder::new(bytes)?.read_to_end(&mut all)?,
        Format::Bzip2 => bzip2::read::MultiBzDecoder::new(bytes).read_to_end(&mut all)?,
        Format::Lzma => {
            let stream = liblzma::stream::Stream::new_lzma_decoder(u64::MAX)?;
            liblzma::read::XzDecoder::new_stream(bytes, stream).read_to_end(&mut all)?
        }
        _ => liblzma::read::XzDecoder::new_multi_decoder(bytes).read_to_end(&mut all)?,
    };
    Ok(all)
}

#[test]
fn sizes_around_blocks_survive_and_jobs_change_no_byte() {
    for bytes in [0, 1, FRAME - 1, FRAME, FRAME + 1, 5 * FRAME + 7, (1 << 20) + 1] {
        for data in [words(bytes, 1), noise(bytes, 1), vec![0; bytes]] {
            for (packing, format) in PACKINGS {
                let one = packed(&data, packing, 1);
                assert!(packed(&data, packing, 3) == one, "{bytes} bytes, {packing:?}");
                assert!(judged(&one, format).unwrap() == data, "{bytes} bytes, {packing:?}");
                for jobs in [1, 3] {
                    let (found, summary) = unpacked(&one, format, jobs).unwrap();
                    assert!(found == data, "{bytes} bytes, {packing:?}, {jobs} jobs");
                    assert_eq!(summary.bytes_in, one.len() as u64, "{packing:?}");
                }
            }
        }
    }
}

#[test]
fn large_data_survive_and_jobs_change_no_byte() {
    // Several of libzstd's jobs, and two blocks of xz.
    let data = words(26 << 20, 5);
    for (packing, format) in [PACKINGS[1], (Packing::Zstd { frame_bytes: 1 << 20 }, Format::Zstd)] {
        let one = packed(&data, packing, 1);
        assert!(packed(&data, packing, 2) == one, "{packing:?}");
        assert!(unpacked(&one, format, 2).unwrap().0 == data, "{packing:?}");
    }
    let data = vec![7; 26 << 20];
    let one = packed(&data, Packing::Xz, 1);
    assert!(packed(&data, Packing::Xz, 2) == one);
    assert!(unpacked(&one, Format::Xz, 2).unwrap().0 == data);
}

#[test]
fn workers_decompress_small_frames() {
    let data = words(10 * FRAME, 2);
    let ours = packed(&data, SMALL, 1);
    assert_eq!(unpacked(&ours, Format::Zstd, 1).unwrap().1.by_workers, 0);
    assert_eq!(unpacked(&ours, Format::Zstd, 3).unwrap().1.by_workers, 10);
    let one = zstd::encode_all(&data[..], 3).unwrap();
    assert_eq!(unpacked(&one, Format::Zstd, 3).unwrap().1.by_workers, 0);
}

#[test]
fn blocks_end_where_they_are_cut() {
    let packing = Packing::ZstdCut { frame_bytes: FRAME as u64 };
    let mut encoder = Encoder::packing(Vec::new(), packing, 2);
    encoder.cut(0).unwrap();
    encoder.write_all(&words(FRAME, 1)).unwrap();
    encoder.write_all(&words(FRAME / 4, 1)).unwrap();
    encoder.cut(10).unwrap();
    encoder.write_all(&words(FRAME / 2, 1)).unwrap();
    encoder.attach(b"attached".to_vec());
    let (file, _) = encoder.finish().unwrap();
    let bytes = haul_codec::SeekTable::table_bytes(&file).unwrap();
    let table = &file[file.len() - bytes..];
    let table = haul_codec::SeekTable::read(table, file.len() as u64).unwrap();
    let contents: Vec<u32> = table.frames().iter().map(|frame| frame.content_bytes).collect();
    assert_eq!(contents, [5 * FRAME as u32 / 4 - 10, FRAME as u32 / 2 + 10, 0]);
    let before: usize = table.frames().iter().take(2).map(|frame| frame.bytes as usize).sum();
    let attached = haul_codec::SeekTable::attached(&file[before..file.len() - bytes]);
    assert_eq!(attached, Some(&b"attached"[..]));
    assert_eq!(judged(&file, Format::Zstd).unwrap().len(), 7 * FRAME / 4);
}

#[test]
fn several_streams_are_one() {
    let data = words(300_000, 4);
    let (first, second) = data.split_at(100_000);
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 4, 0, 0, 0][..], b"skip"].concat();
    let zstd = |data| zstd::encode_all(data, 3).unwrap();
    let xz = |data: &[u8]| packed(data, Packing::Xz, 1);
    let bzip2 = |data: &[u8]| {
        let mut writer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(9));
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    };
    for (format, stream) in [
        (
            Format::Zstd,
            [&skippable[..], &zstd(first), &skippable, &packed(second, SMALL, 1), &skippable]
                .concat(),
        ),
        (Format::Xz, [&xz(first)[..], &[0; 8], &xz(second), &[0; 4]].concat()),
        (Format::Lzma, [xz(first), xz(second)].concat()),
        (Format::Bzip2, [bzip2(first), bzip2(&[]), bzip2(second)].concat()),
    ] {
        for jobs in [1, 3] {
            assert!(unpacked(&stream, format, jobs).unwrap().0 == data, "{format:?}");
        }
        for wrong in [&b"garbage"[..], &[0; 3]] {
            let wrong = [&stream[..], wrong].concat();
            let found = unpacked(&wrong, format, 2);
            if format == Format::Bzip2 {
                // As bzip2 reads it.
                let (found, summary) = found.unwrap();
                assert!(found == data && summary.trailing == Trailing::Garbage, "{summary:?}");
                assert_eq!(summary.bytes_in, wrong.len() as u64);
            } else {
                assert!(found.is_err(), "{format:?}");
            }
        }
    }
    // A second stream that begins and does not end is no garbage.
    let cut = [&bzip2(first)[..], &bzip2(second)[..9]].concat();
    let found = unpacked(&cut, Format::Bzip2, 1);
    assert!(matches!(found, Err(DecodeError::Data(Damage::UnexpectedEnd))), "{found:?}");
}

#[test]
fn nothing_follows_a_stream_of_lzma_alone() {
    let data = words(100_000, 4);
    let alone = packed(&data, Packing::Lzma, 1);
    assert!(unpacked(&alone, Format::Lzma, 1).unwrap().0 == data);
    let xz = packed(&data, Packing::Xz, 1);
    for behind in [&alone[..], &xz, &[0; 4], b"x"] {
        let found = unpacked(&[&alone[..], behind].concat(), Format::Lzma, 1);
        assert!(matches!(found, Err(DecodeError::Data(Damage::Format))), "{found:?}");
    }
}

/// xz and lzma take such a stream for none. The format of LZMA alone has no sum, so its header is all that tells damage.
#[test]
fn a_stream_of_lzma_alone_has_a_dictionary() {
    // liblzma takes 4096 bytes for none, and finds no damage in them.
    let data = words(1000, 4);
    for (bytes, is_read) in [(0_u32, false), (1 << 23, true), (3 << 22, true), (5 << 22, false)] {
        let mut alone = packed(&data, Packing::Lzma, 1);
        alone[1..5].copy_from_slice(&bytes.to_le_bytes());
        let found = unpacked(&alone, Format::Lzma, 1);
        match is_read {
            true => assert!(found.unwrap().0 == data, "{bytes}"),
            false => {
                let is_said = matches!(found, Err(DecodeError::Data(Damage::UnknownFormat)));
                assert!(is_said, "{bytes}: {found:?}");
            }
        }
    }
}

/// liblzma decodes a stream with a type of check that it does not know as if it had none.
#[test]
fn a_check_of_an_unknown_type_is_not_passed_over() {
    let data = words(700_000, 4);
    let known = packed(&data, Packing::Xz, 1);
    // Types 4 (CRC-64), 5 and 6 take 8 bytes.
    let mut unknown = known.clone();
    unknown[7] = 5;
    let sum = crc32fast::hash(&unknown[6..8]).to_le_bytes();
    unknown[8..12].copy_from_slice(&sum);
    let end = unknown.len();
    unknown[end - 3] = 5;
    let sum = crc32fast::hash(&unknown[end - 8..end - 2]).to_le_bytes();
    unknown[end - 12..end - 8].copy_from_slice(&sum);
    for (format, jobs) in [(Format::Xz, 1), (Format::Xz, 3), (Format::Lzma, 1)] {
        for stream in [&unknown[..], &[&unknown[..], &known].concat()] {
            let plan = DecodePlan { jobs, ..DecodePlan::default() };
            let mut decoder = Decoder::of(Cursor::new(stream.to_vec()), plan, format);
            let (mut all, mut failed) = (Vec::new(), None);
            while failed.is_none() {
                match decoder.next_piece() {
                    Ok(Some(piece)) => all.extend_from_slice(&piece),
                    Ok(None) => break,
                    Err(error) => failed = Some(error),
                }
            }
            assert!(all == data, "the data come first");
            let is_said = matches!(failed, Some(DecodeError::Data(Damage::UnknownCheck(5))));
            assert!(is_said, "{format:?} {jobs}: {failed:?}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_off_anywhere_is_refused() {
    let data = words(3 * FRAME, 1);
    for (packing, format) in PACKINGS {
        let whole = packed(&data, packing, 1);
        let step = (whole.len() / 300).max(1);
        for length in (1..whole.len()).step_by(step).chain(whole.len() - 40..whole.len()) {
            for jobs in [1, 2] {
                match unpacked(&whole[..length], format, jobs) {
                    Err(DecodeError::Data(_)) => {}
                    // Between two frames, or within what only we read.
                    Ok((found, _)) if format == Format::Zstd => {
                        assert!(judged(&whole[..length], format).is_ok_and(|all| all == found));
                    }
                    other => panic!("{length} bytes of {packing:?}: {:?}", other.err()),
                }
            }
        }
    }
}

#[test]
fn windows_are_limited() {
    // A frame without its size, whose header claims a window of 2^41 bytes, and one of 2^31.
    let claims = |log: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1, 0, 0];
    let found = unpacked(&claims(41), Format::Zstd, 1);
    assert!(matches!(found, Err(DecodeError::Data(Damage::Memory))), "{found:?}");
    let found = unpacked(&claims(28), Format::Zstd, 1);
    assert!(matches!(found, Err(DecodeError::Data(Damage::Memory))), "{found:?}");
    assert_eq!(unpacked(&claims(27), Format::Zstd, 1).unwrap().0, b"");
    let all = Memory { window_bytes: 1 << 31, ..Memory::default() };
    assert_eq!(unpacked_within(&claims(31), Format::Zstd, 1, all).unwrap().0, b"");
    let mut long = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    long.window_log(30).unwrap();
    long.write_all(&words(300_000, 1)).unwrap();
    let long = long.finish().unwrap();
    assert!(unpacked_within(&long, Format::Zstd, 2, all).unwrap().0 == words(300_000, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_streams_are_refused_or_right(
        which in 0..PACKINGS.len(),
        seed: u64,
        size in 0_usize..200_000,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        jobs in 1_usize..4,
    ) {
        let (packing, format) = PACKINGS[which];
        let data = words(size, seed);
        let mut stream = packed(&data, packing, 1);
        for (place, value) in &changes {
            let at = place.index(stream.len());
            stream[at] = *value;
        }
        let found = unpacked(&stream, format, jobs);
        match (&found, judged(&stream, format)) {
            (Ok((found, _)), Ok(judged)) => prop_assert!(*found == judged),
            // The format of LZMA alone has no sum, and readers stop in different places.
            (Ok(_), Err(_)) if format == Format::Lzma => {}
            (Ok(_), Err(error)) => prop_assert!(false, "{format:?}: the judge says {error}"),
            (Err(_), _) => {}
        }
        // Frames carry sums of 32 bits, and blocks of 64.
        if let (Ok((found, _)), Format::Xz) = (&found, format) {
            prop_assert!(*found == data);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_decoded_but_never_panic(
        which in 0_usize..4,
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
    ) {
        const STARTS: [(&[u8], Format); 4] = [
            (b"\x28\xb5\x2f\xfd", Format::Zstd),
            (b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46", Format::Xz),
            (b"\x5d\0\0\x80\0", Format::Lzma),
            (b"BZh91AY&SY", Format::Bzip2),
        ];
        let (start, format) = STARTS[which];
        let _refused_or_not = unpacked(&[start, &bytes].concat(), format, 2);
    }
}
