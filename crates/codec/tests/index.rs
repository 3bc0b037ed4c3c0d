//! Points and the index: another writer's member is decompressed by several workers, and whatever an
//! index says, what comes out is what the stream contains.

use std::io::{Cursor, Write as _};
use std::sync::LazyLock;
use std::sync::mpsc::channel;

use haul_codec::{
    Cut, DecodeError, DecodePlan, Decoder, EncodePlan, Encoder, IndexError, IndexFacts,
    IndexPoints, IndexWriter, Place, Point, Summary, read_index,
};
use proptest::prelude::*;

use crate::support::{decoded, encoded, foreign, judged, noise, words};

fn drained(decoder: &mut Decoder) -> Result<(Vec<u8>, Summary), DecodeError> {
    let mut all = Vec::new();
    while let Some(piece) = decoder.next_piece()? {
        all.extend_from_slice(&piece);
    }
    Ok((all, decoder.summary()))
}

/// Decompresses a stream in order, and returns the points, too.
fn pointed(gz: &[u8]) -> (Vec<u8>, Vec<Point>) {
    let plan = DecodePlan { jobs: 2, ..DecodePlan::default() };
    let mut decoder = Decoder::new(Cursor::new(gz.to_vec()), plan);
    let (sink, points) = channel();
    decoder.find_points(Box::new(move |point| sink.send(point).unwrap()));
    let (all, summary) = drained(&mut decoder).unwrap();
    assert_eq!(summary.by_workers, 0);
    drop(decoder);
    (all, points.iter().collect())
}

fn followed(gz: &[u8], points: &[Point], jobs: usize) -> Result<(Vec<u8>, Summary), DecodeError> {
    let plan = DecodePlan { jobs, ..DecodePlan::default() };
    let mut decoder = Decoder::new(Cursor::new(gz.to_vec()), plan);
    let owned = points.to_vec();
    decoder.follow_points(Box::new(owned.into_iter()));
    drained(&mut decoder)
}

/// Checks that a stream has at least so many points, and that each of them is used.
fn check(name: &str, data: &[u8], gz: &[u8], least: usize) -> Vec<Point> {
    let (all, points) = pointed(gz);
    assert!(all == data, "{name}");
    assert!(points.len() >= least, "{name}: {} points", points.len());
    for jobs in [1, 2, 4] {
        let (all, summary) = followed(gz, &points, jobs).unwrap();
        assert!(all == data, "{name}");
        assert_eq!(summary.bytes_out, data.len() as u64, "{name}");
        let segments = if jobs > 1 { points.len() as u64 + 1 } else { 0 };
        assert_eq!(summary.by_workers, segments, "{name}, {jobs} jobs");
    }
    points
}

/// Returns a member whose parts end in flushes of zlib.
fn flushed(parts: &[&[u8]], flush: flate2::FlushCompress, level: u32) -> Vec<u8> {
    let mut raw = flate2::Compress::new(flate2::Compression::new(level), false);
    let mut gz = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let all = parts.concat();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let flush = if is_last { flate2::FlushCompress::Finish } else { flush };
        let mut room = Vec::with_capacity(part.len() * 2 + 1000);
        raw.compress_vec(part, &mut room, flush).unwrap();
        gz.extend_from_slice(&room);
    }
    gz.extend_from_slice(&crc32fast::hash(&all).to_le_bytes());
    gz.extend_from_slice(&(all.len() as u32).to_le_bytes());
    gz
}

#[test]
fn a_single_member_of_another_writer_is_decompressed_by_workers() {
    let text = words(12 << 20, 1);
    for level in [1, 6, 9] {
        let points = check("text", &text, &foreign(&text, level), 3);
        assert!(points.iter().all(|point| matches!(point.place, Place::Block(_))));
    }
    let noise = noise(12 << 20, 1);
    check("noise", &noise, &foreign(&noise, 6), 3);
    check("stored", &text, &foreign(&text, 0), 3);
    let zeros = vec![0; 40 << 20];
    check("zeros", &zeros, &foreign(&zeros, 6), 4);
    let mixed = [&text[..5 << 20], &noise[..5 << 20], &zeros[..9 << 20], &text[..]].concat();
    check("mixed", &mixed, &foreign(&mixed, 6), 7);
}

#[test]
fn blocks_begin_at_every_bit() {
    let text = words(45 << 20, 3);
    let points = check("text", &text, &foreign(&text, 6), 12);
    let mut bits: Vec<u64> = points.iter().map(|point| point.bit % 8).collect();
    bits.sort_unstable();
    bits.dedup();
    assert!(bits.len() >= 6, "{bits:?}");
}

#[test]
fn flushes_and_members_are_points_too() {
    let text = words(10 << 20, 5);
    let parts: Vec<&[u8]> = text.chunks(300_000).collect();
    for flush in [flate2::FlushCompress::Sync, flate2::FlushCompress::Full] {
        let gz = flushed(&parts, flush, 6);
        assert!(judged(&gz).unwrap() == text);
        check("flushed", &text, &gz, 2);
    }
    // As BGZF has them: small members, of which every so many is a point.
    let members: Vec<u8> = text.chunks(65_280).flat_map(|part| foreign(part, 6)).collect();
    let points = check("members", &text, &members, 3);
    assert!(points.iter().all(|point| point.place == Place::Member));
    let own = encoded(&text, 6, 2, Cut::Even);
    let several = [foreign(&text, 6), own, foreign(b"", 6), foreign(&text, 1)].concat();
    check("several", &text.repeat(3), &several, 8);
}

#[test]
fn headers_with_every_field_precede_points() {
    let text = words(8 << 20, 6);
    let plain = foreign(&text, 6);
    // Extra field, name, comment and the check sum of the header.
    let mut header = vec![0x1f, 0x8b, 8, 0b1_1110, 1, 2, 3, 4, 0, 3];
    header.extend_from_slice(&[6, 0, b'x', b'y', 2, 0, 0x1f, 0x8b]);
    header.extend_from_slice(b"name\0a comment\0");
    header.extend_from_slice(&(crc32fast::hash(&header) as u16).to_le_bytes());
    let member = [header.as_slice(), &plain[10..]].concat();
    check("one", &text, &member, 2);
    check("two", &text.repeat(2), &[member.as_slice(), &member].concat(), 4);
}

#[test]
fn the_encoder_tells_points_without_windows() {
    let text = words(8 << 20, 7);
    for cut in [Cut::Even, Cut::ByContent] {
        let plan = EncodePlan { jobs: 2, cut, ..EncodePlan::GZIP };
        let mut encoder = Encoder::new(Vec::new(), plan);
        let (sink, points) = channel();
        encoder.tell_points(Box::new(move |point| sink.send(point).unwrap()));
        encoder.write_all(&text).unwrap();
        let (gz, _) = encoder.finish().unwrap();
        let points: Vec<Point> = points.iter().collect();
        assert!(gz == encoded(&text, 6, 1, cut));
        assert!((5..=7).contains(&points.len()), "{cut:?}: {} points", points.len());
        assert!(points.iter().all(|point| point.place == Place::Block(Vec::new())));
        let (all, summary) = followed(&gz, &points, 2).unwrap();
        assert!(all == text);
        assert_eq!(summary.by_workers, points.len() as u64 + 1);
    }
}

/// An empty stored block behind a flush looks like a restart mark, but what follows may refer to what
/// precedes it. Without an index, too, that is decompressed as what it is.
#[test]
fn data_behind_what_looks_like_a_mark_may_refer_to_what_precedes_it() {
    let text = words(2_000_000, 9);
    let parts: Vec<&[u8]> = text.chunks(200_000).collect();
    let mut raw = flate2::Compress::new(flate2::Compression::new(6), false);
    let mut gz = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for part in parts {
        let mut room = Vec::with_capacity(part.len() + 1000);
        raw.compress_vec(part, &mut room, flate2::FlushCompress::Sync).unwrap();
        gz.extend_from_slice(&room);
        gz.extend_from_slice(&[0, 0, 0, 0xff, 0xff]);
    }
    gz.extend_from_slice(&[3, 0]);
    gz.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
    gz.extend_from_slice(&(text.len() as u32).to_le_bytes());
    assert!(judged(&gz).unwrap() == text);
    for jobs in [1, 2, 3] {
        let (all, _) = decoded(&gz, jobs).unwrap();
        assert!(all == text, "{jobs}");
    }
}

fn facts(gz: &[u8], data: &[u8]) -> IndexFacts {
    IndexFacts {
        points: 0,
        archive_bytes: gz.len() as u64,
        original_bytes: data.len() as u64,
        members: 1,
        last_bytes: data.len() as u64,
        last_check: crc32fast::hash(data),
        identity: [7; 32],
    }
}

fn written(points: &[Point], facts: &IndexFacts) -> Vec<u8> {
    let mut writer = IndexWriter::begin(Vec::new()).unwrap();
    points.iter().for_each(|point| writer.add(point).unwrap());
    writer.finish(facts).unwrap()
}

#[test]
fn an_index_is_read_as_it_was_written_and_any_change_is_noticed() {
    let text = words(8 << 20, 11);
    let gz = foreign(&text, 6);
    let (_, points) = pointed(&gz);
    let facts = facts(&gz, &text);
    let index = written(&points, &facts);
    assert!(index.len() < gz.len() / 20, "{} of {} bytes", index.len(), gz.len());
    let found = read_index(index.as_slice()).unwrap();
    assert_eq!(found, IndexFacts { points: points.len() as u64, ..facts });
    assert!(IndexPoints::new(index.as_slice()).eq(points.iter().cloned()));
    for at in (0..index.len()).step_by(97).chain(0..40).chain(index.len() - 120..index.len()) {
        let mut wrong = index.clone();
        wrong[at] ^= 0x10;
        let error = read_index(wrong.as_slice()).unwrap_err();
        let is_right = match at {
            0..8 => matches!(error, IndexError::NotAnIndex),
            8..12 => matches!(error, IndexError::Version(_)),
            _ => matches!(error, IndexError::Damaged),
        };
        assert!(is_right, "{at}: {error:?}");
        assert!(read_index(&index[..at]).is_err(), "{at}");
    }
    assert!(read_index([index.as_slice(), b"x"].concat().as_slice()).is_err());
    let backwards = written(&[points[1].clone(), points[0].clone()], &facts);
    assert!(matches!(read_index(backwards.as_slice()), Err(IndexError::Damaged)));
    let beyond = Point { bit: 8 * gz.len() as u64, ..points[0].clone() };
    assert!(matches!(read_index(written(&[beyond], &facts).as_slice()), Err(IndexError::Damaged)));
}

#[test]
fn a_header_that_claims_more_than_there_is_takes_no_memory() {
    let claims = IndexFacts { points: u64::MAX, ..facts(&[0; 100], b"") };
    let mut index = written(&[], &claims);
    let at = index.len() - 4 - 32 - 4 - 5 * 8;
    index[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let end = index.len() - 4;
    let check = crc32fast::hash(&index[..end]);
    index[end..].copy_from_slice(&check.to_le_bytes());
    assert!(matches!(read_index(index.as_slice()), Err(IndexError::Damaged)));
    assert_eq!(IndexPoints::new(index.as_slice()).count(), 0);
}

#[test]
fn points_of_another_file_change_nothing() {
    let (text, other) = (words(10 << 20, 13), words(10 << 20, 14));
    let (gz, foreign_gz) = (foreign(&text, 6), foreign(&other, 6));
    let (_, points) = pointed(&foreign_gz);
    let (all, summary) = followed(&gz, &points, 3).unwrap();
    assert!(all == text);
    assert_eq!(summary.by_workers, 0);
}

/// Two members and their points.
static TWO_MEMBERS: LazyLock<(Vec<u8>, Vec<Point>)> = LazyLock::new(|| {
    let text = words(7 << 20, 15);
    let gz = [foreign(&text, 1), foreign(&text, 6)].concat();
    let (_, points) = pointed(&gz);
    (gz, points)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn wrong_points_change_nothing(
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..5, any::<u32>()),
            1..4,
        ),
        jobs in 2_usize..4,
        has_damage in any::<bool>(),
    ) {
        let (gz, points) = &*TWO_MEMBERS;
        let (mut gz, mut points) = (gz.clone(), points.clone());
        for (place, at, kind, value) in &changes {
            let count = points.len();
            let point = &mut points[place.index(count)];
            match (kind, &mut point.place) {
                (0, _) => point.bit ^= u64::from(*value & 7),
                (1, _) => point.bit = u64::from(*value),
                (2, Place::Block(window)) if !window.is_empty() => {
                    let at = at.index(window.len());
                    window[at] ^= 1;
                }
                (3, Place::Block(window)) => window.truncate(*value as usize % 40_000),
                _ => point.place = Place::Member,
            }
        }
        if has_damage {
            let at = changes[0].1.index(gz.len());
            gz[at] ^= 4;
        }
        let expected = decoded(&gz, 1);
        match (followed(&gz, &points, jobs), expected) {
            (Ok((all, found)), Ok((same, summary))) => {
                prop_assert!(all == same);
                prop_assert_eq!(Summary { by_workers: 0, ..found }, summary);
            }
            (Err(DecodeError::Data(found)), Err(DecodeError::Data(damage))) => {
                prop_assert_eq!(found, damage);
            }
            (found, expected) => prop_assert!(false, "{:?} {:?}", found.is_ok(), expected.is_ok()),
        }
    }
}
