//! Damaged streams: never a panic, never success with other bytes, and the judge agrees.

use haul_codec::{Cut, Damage, DecodeError, DecodePlan, Decoder};
use proptest::prelude::*;

use crate::support::{decoded, encoded, foreign, judged, words};

#[test]
fn a_stream_that_is_cut_off_anywhere_is_refused() {
    let gz = encoded(&words(40_000, 1), 6, 1, Cut::ByContent);
    for length in 2..gz.len() {
        for jobs in [1, 2] {
            match decoded(&gz[..length], jobs) {
                Err(DecodeError::Data(Damage::UnexpectedEnd)) => {}
                other => panic!("{length} of {} bytes: {other:?}", gz.len()),
            }
        }
    }
}

#[test]
fn wrong_sums_and_lengths_are_refused_also_behind_marks() {
    let gz = encoded(&words(3 << 20, 1), 6, 2, Cut::Even);
    for (from_end, damage) in [(8, Damage::Checksum), (4, Damage::Length)] {
        let mut wrong = gz.clone();
        let at = wrong.len() - from_end;
        wrong[at] ^= 1;
        wrong.extend(foreign(b"more", 6));
        for jobs in [1, 2] {
            match decoded(&wrong, jobs) {
                Err(DecodeError::Data(found)) => assert_eq!(found, damage),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A worker that began within the member cannot compare it, and decompresses also what is behind it.
#[test]
fn no_byte_from_behind_a_damaged_member_comes_before_the_error() {
    let data = words((3 << 20) + 5000, 1);
    let mut gz = encoded(&data, 6, 2, Cut::Even);
    for from_end in [8, 4] {
        let at = gz.len() - from_end;
        gz[at] ^= 1;
        let wrong = [gz.clone(), foreign(b"behind", 6), foreign(b"it", 6)].concat();
        for jobs in [1, 2, 4] {
            let plan = DecodePlan { jobs, ..DecodePlan::default() };
            let mut decoder = Decoder::new(std::io::Cursor::new(wrong.clone()), plan);
            let mut all = Vec::new();
            let failed = loop {
                match decoder.next_piece() {
                    Ok(Some(piece)) => all.extend_from_slice(&piece),
                    Ok(None) => panic!("{jobs}: no error"),
                    Err(error) => break error,
                }
            };
            assert!(matches!(failed, DecodeError::Data(Damage::Checksum | Damage::Length)));
            assert!(all == data, "{jobs}: {} bytes, not {}", all.len(), data.len());
        }
        gz[at] ^= 1;
    }
}

#[test]
fn a_block_that_is_missing_or_exchanged_is_noticed() {
    const MARK: [u8; 9] = [0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff];
    let gz = encoded(&words(4 << 20, 1), 6, 2, Cut::Even);
    let ends: Vec<usize> =
        (0..gz.len() - 9).filter(|at| gz[*at..*at + 9] == MARK).map(|at| at + 9).collect();
    assert!(ends.len() >= 3, "{} marks", ends.len());
    let missing = [&gz[..ends[0]], &gz[ends[1]..]].concat();
    let exchanged =
        [&gz[..ends[0]], &gz[ends[1]..ends[2]], &gz[ends[0]..ends[1]], &gz[ends[2]..]].concat();
    for jobs in [1, 2] {
        for wrong in [&missing, &exchanged] {
            let found = decoded(wrong, jobs);
            assert!(matches!(found, Err(DecodeError::Data(Damage::Checksum))), "{found:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_judge_agrees_about_damaged_streams(
        size in 0_usize..400_000,
        seed in any::<u64>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        jobs in 1_usize..4,
    ) {
        let data = words(size, seed);
        let mut gz = encoded(&data, 6, 1, Cut::ByContent);
        gz.extend(foreign(b"another", 6));
        for (place, value) in &changes {
            let at = place.index(gz.len());
            gz[at] = *value;
        }
        let found = decoded(&gz, jobs);
        let in_order = decoded(&gz, 1);
        match (&found, &in_order) {
            (Ok((found, one)), Ok((same, other))) => {
                prop_assert!(found == same);
                // Who did the work is all that may differ.
                prop_assert_eq!(*other, haul_codec::Summary { by_workers: 0, ..*one });
            }
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{jobs} jobs and one disagree"),
        }
        // The judge knows neither garbage behind the last member nor every rule about headers.
        if let (Ok((found, summary)), Ok(judged)) = (&found, judged(&gz))
            && summary.members == 2
        {
            prop_assert!(*found == judged);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_decoded_but_never_panic(
        magic in 0_usize..6,
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
    ) {
        const MAGICS: [&[u8]; 6] =
            [b"\x1f\x8b\x08", b"\x1f\x9d", b"\x1f\x1e", b"PK\x03\x04", b"\x1f\x9e\x08", b""];
        let all = [MAGICS[magic], &bytes].concat();
        let _refused_or_not = decoded(&all, 2);
    }
}
