//! Round trips, and what other writers write.

use haul_codec::{Cut, DecodePlan, Decoder, EncodePlan, Encoder, Format, Garbage, Stamp, Trailing};
use proptest::prelude::*;

use crate::support::{decoded, encoded, foreign, judged, noise, words};

#[test]
fn every_size_around_a_block_survives() {
    const BLOCK: usize = 1 << 20;
    for bytes in [0, 1, 2, 65_535, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 7] {
        for data in [words(bytes, 1), noise(bytes, 1), vec![0; bytes]] {
            let gz = encoded(&data, 6, 2, Cut::Even);
            assert!(judged(&gz).unwrap() == data, "{bytes} bytes, judged");
            for jobs in [1, 3] {
                let (found, summary) = decoded(&gz, jobs).unwrap();
                assert!(found == data, "{bytes} bytes, {jobs} jobs");
                assert_eq!((summary.members, summary.bytes_in), (1, gz.len() as u64));
                assert_eq!((summary.last_bytes, summary.bytes_out), (bytes as u64, bytes as u64));
                assert_eq!(summary.check, Some(crc32fast::hash(&data)), "{bytes} bytes");
            }
        }
    }
}

#[test]
fn every_level_gives_the_same_bytes_for_any_number_of_jobs() {
    let mut data = words(3_000_000, 7);
    data.extend(noise(1_500_000, 7));
    for cut in [Cut::Even, Cut::ByContent] {
        for level in 1..=9 {
            let one = encoded(&data, level, 1, cut);
            assert!(encoded(&data, level, 3, cut) == one, "level {level}, {cut:?}");
            assert!(judged(&one).unwrap() == data, "level {level}, {cut:?}");
        }
    }
}

#[test]
fn the_size_is_about_that_of_one_deflate_stream() {
    let data = words(4 << 20, 3);
    let (ours, theirs) = (encoded(&data, 6, 1, Cut::Even).len(), foreign(&data, 6).len());
    assert!(ours * 100 <= theirs * 101, "{ours} bytes, another writer {theirs}");
}

#[test]
fn several_members_are_one_stream() {
    let parts = [words(3_000_000, 1), Vec::new(), noise(200_000, 2), words(70_000, 3)];
    let mut gz = Vec::new();
    gz.extend(encoded(&parts[0], 6, 2, Cut::Even));
    gz.extend(foreign(&parts[1], 6));
    gz.extend(foreign(&parts[2], 1));
    gz.extend(encoded(&parts[3], 9, 1, Cut::ByContent));
    for jobs in [1, 2, 4] {
        let (found, summary) = decoded(&gz, jobs).unwrap();
        assert!(found == parts.concat(), "{jobs} jobs");
        assert_eq!((summary.members, summary.last_bytes), (4, 70_000));
        assert_eq!(summary.check, Some(crc32fast::hash(&parts[3])));
    }
}

#[test]
fn many_small_members_are_read_by_several_workers() {
    let data = words(8 << 20, 9);
    let gz: Vec<u8> = data.chunks(65_280).flat_map(|part| foreign(part, 6)).collect();
    for jobs in [1, 3] {
        let (found, summary) = decoded(&gz, jobs).unwrap();
        assert!(found == data, "{jobs} jobs");
        assert_eq!(summary.members, data.len().div_ceil(65_280) as u64);
    }
}

#[test]
fn workers_do_what_the_stream_allows() {
    let data = words(6 << 20, 9);
    let ours = encoded(&data, 6, 1, Cut::Even);
    let small: Vec<u8> = data.chunks(65_280).flat_map(|part| foreign(part, 6)).collect();
    for (gz, least) in [(&ours, 5), (&small, 3)] {
        assert_eq!(decoded(gz, 1).unwrap().1.by_workers, 0);
        let by_workers = decoded(gz, 3).unwrap().1.by_workers;
        assert!(by_workers >= least, "{by_workers} segments");
    }
    // One member of another writer is read in order.
    let one = foreign(&noise(4 << 20, 9), 6);
    assert_eq!(decoded(&one, 3).unwrap().1.by_workers, 0);
}

#[test]
fn data_that_contain_members_and_marks_are_data() {
    // Stored blocks show the inner file as it is.
    let inner = encoded(&words(6 << 20, 5), 6, 2, Cut::ByContent);
    let outer = [foreign(&inner, 0), foreign(b"behind", 6)].concat();
    for jobs in [1, 2, 5] {
        let (found, _) = decoded(&outer, jobs).unwrap();
        assert!(found == [&inner[..], b"behind"].concat(), "{jobs} jobs");
    }
    let ours = encoded(&inner, 1, 2, Cut::Even);
    let (found, summary) = decoded(&ours, 4).unwrap();
    assert!(found == inner);
    assert_eq!(summary.members, 1);
}

#[test]
fn data_that_expand_much_stay_bounded() {
    let data = vec![0; 64 << 20];
    let gz = foreign(&data, 9);
    let gz = [gz.clone(), gz].concat();
    let mut decoder =
        Decoder::new(std::io::Cursor::new(gz), DecodePlan { jobs: 2, ..DecodePlan::default() });
    let mut bytes = 0;
    while let Some(piece) = decoder.next_piece().unwrap() {
        assert!(piece.len() <= 256 << 10 && piece.iter().all(|byte| *byte == 0));
        bytes += piece.len();
    }
    assert_eq!(bytes, 128 << 20);
}

#[test]
fn what_lies_behind_the_last_member_is_ignored_or_passed_on() {
    let gz = foreign(b"data", 6);
    for (behind, trailing) in [
        (&b""[..], Trailing::Nothing),
        (&[0; 3000], Trailing::Zeros),
        (b"garbage", Trailing::Garbage),
        (b"\0\0x", Trailing::Garbage),
    ] {
        let all = [&gz[..], behind].concat();
        for jobs in [1, 2] {
            let (found, summary) = decoded(&all, jobs).unwrap();
            assert_eq!(found, b"data");
            assert_eq!(summary.trailing, trailing, "{behind:?}");
            let plan = DecodePlan { jobs, garbage: Garbage::Pass, ..DecodePlan::default() };
            let mut decoder = Decoder::new(std::io::Cursor::new(all.clone()), plan);
            let mut passed = Vec::new();
            while let Some(piece) = decoder.next_piece().unwrap() {
                passed.extend(piece);
            }
            assert_eq!(passed, [b"data", behind].concat(), "{behind:?}");
        }
    }
}

#[test]
fn only_what_begins_with_no_magic_number_is_passed_on() {
    let gz = foreign(b"data", 6);
    let all = |bytes: &[u8]| {
        let plan = DecodePlan { jobs: 1, garbage: Garbage::Pass, ..DecodePlan::default() };
        let mut decoder = Decoder::new(std::io::Cursor::new(bytes.to_vec()), plan);
        let mut passed = Vec::new();
        while let Some(piece) = decoder.next_piece()? {
            passed.extend(piece);
        }
        Ok::<_, haul_codec::DecodeError>(passed)
    };
    for bytes in [&b""[..], b"\x1f", b"\0", b"PK", b"PK\x03", b"text", b"\x28\xb5\x2f\xfd"] {
        assert_eq!(all(bytes).unwrap(), bytes, "{bytes:?}");
    }
    for end in 2..gz.len() {
        assert!(all(&gz[..end]).is_err(), "{end} bytes of {}", gz.len());
    }
    for magic in [b"\x1f\x9e", b"\x1f\x1e", b"\x1f\x9d", b"\x1f\xa0"] {
        assert!(all(magic).is_err(), "{magic:?}");
    }
}

#[test]
fn the_header_is_told_before_the_data() {
    let stamp = Stamp { mtime: 77, name: Some(b"name".to_vec()) };
    let plan = EncodePlan { stamp, ..EncodePlan::GZIP };
    let (gz, totals) = Encoder::new(Vec::new(), plan).finish().unwrap();
    assert_eq!(totals.header_bytes, 10 + 5 + 8);
    let mut decoder = Decoder::new(std::io::Cursor::new(gz), DecodePlan::default());
    let start = decoder.start().unwrap();
    let header = start.header.unwrap();
    assert_eq!(start.format, Format::Gzip);
    assert_eq!((header.mtime, header.name.as_deref()), (77, Some(&b"name"[..])));
    assert!(decoder.next_piece().unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_survive(
        parts in proptest::collection::vec((0_usize..300_000, any::<u64>(), any::<bool>()), 0..6),
        level in 1_u8..=9,
        jobs in 1_usize..4,
        by_content in any::<bool>(),
    ) {
        let data: Vec<u8> = parts
            .iter()
            .flat_map(|(bytes, seed, even)| {
                if *even { words(*bytes, *seed) } else { noise(*bytes, *seed) }
            })
            .collect();
        let cut = if by_content { Cut::ByContent } else { Cut::Even };
        let gz = encoded(&data, level, jobs, cut);
        prop_assert!(judged(&gz).unwrap() == data);
        prop_assert!(decoded(&gz, jobs).unwrap().0 == data);
    }
}

/// Small files are where a level of its own helps most, and what people compare.
#[test]
fn the_smallest_level_is_the_smallest_for_small_files() {
    for bytes in [100, 300, 570, 1000, 1500, 3000, 8000, 20_000, 32_768] {
        for seed in 0..4 {
            let data = words(bytes, seed);
            let of = |level| encoded(&data, level, 1, Cut::Even).len();
            let smallest = of(9);
            for level in [1, 6] {
                assert!(smallest <= of(level), "{bytes} bytes, level {level}");
            }
            assert!(smallest <= foreign(&data, 9).len(), "{bytes} bytes, another writer's level 9");
        }
    }
}
