//! Tests the reader with torn, flipped and invalid journals: it must find exactly the whole records
//! before the first damaged one, and never a record that was not written.

use haul_io::block_digests::Piece;
use haul_sys::fs::{Stat, Time};

use super::header::{self, Flaw};
use super::index::{Index, Told};
use super::record::{self, FinishedEntry, Names, Place, TargetIdentity, frame, read_pieces};
use super::scan::{Scanned, is_complete, scan};
use super::sums::Sums;
use crate::data::literals::{FILE, identified, stat};
use crate::names::file_systems::{FileSystemId, Identified};

const NONCE: [u8; 8] = [7; 8];

/// Returns a file that differs from every other test value.
fn file(ino: u64) -> Stat {
    let time = Time { seconds: 1_700_000_000, nanoseconds: 5 };
    let size = 10 * ino;
    Stat { size, blocks: 8, atime: time, mtime: time, ctime: time, ..stat(ino, FILE) }
}

const PLACE: Place<'static> = Place { directory: 3, name: c"a name" };

fn finished(source: &Stat, target: &Stat, place: Place<'_>, names: Names) -> Vec<u8> {
    let (source, target) = (identified(source), identified(target));
    record::finished(&FinishedEntry { source, target, place, names })
}

/// Returns the records of a journal, and the end of each record.
fn records(sums: &Sums) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let mut add = |record: &[u8]| {
        let sum = frame(sums, record, &mut bytes);
        ends.push(bytes.len());
        sum
    };
    add(&finished(&file(1), &file(2), PLACE, Names::One));
    add(&finished(&file(3), &file(4), PLACE, Names::Several));
    let part = add(&record::part(identified(&file(5)), 6, c".haul-0123456789ab", PLACE));
    let pieces = [Piece::new(0, 4096, &[1; 16]), Piece::new(8192, 100, &[2; 16])];
    add(&record::pieces(part, &pieces, 16));
    add(&record::directory(0o755, PLACE));
    let last = add(&finished(&file(7), &file(8), PLACE, Names::One));
    add(&record::digest(last, &[9; 32]));
    (bytes, ends)
}

const TARGET: TargetIdentity =
    TargetIdentity { ino: 9, birth: Some(Time { seconds: 1_700_000_000, nanoseconds: 6 }) };

#[test]
fn only_the_last_record_says_that_a_run_is_complete() {
    let sums = Sums::new(NONCE);
    let (mut bytes, ends) = records(&sums);
    let end = bytes.len() as u64;
    assert_eq!(read(&sums, &bytes).complete, None);
    let at = Time { seconds: 1_700_000_001, nanoseconds: 0 };
    let mark = record::complete(TARGET, at);
    frame(&sums, &mark, &mut bytes);
    let (scanned, index) = read_index(&sums, &bytes);
    assert_eq!(scanned.complete, Some(TARGET));
    let last = &bytes[usize::try_from(end).unwrap()..];
    assert!(is_complete(&sums, last));
    assert!(!is_complete(&Sums::new([8; 8]), last));
    assert!(!is_complete(&sums, &last[1..]) && !is_complete(&sums, &[]));
    assert_eq!((index.counts(), scanned.records), ((3, 1, 0), ends.len() as u64 + 1));
    let (mut then, mut later) = (file(1), file(1));
    (then.ctime, later.ctime) = (at, Time { nanoseconds: 1, ..at });
    assert!(!index.has_changed_since_completion(&then));
    assert!(index.has_changed_since_completion(&later));
    // A target without a creation time has a record of the same length.
    let other = TargetIdentity { birth: None, ..TARGET };
    let record = record::complete(other, at);
    assert_eq!(record.len(), mark.len());
    assert_eq!(record::read(&record), Some(record::Read::Complete { target: other, at }));
    frame(&sums, &finished(&file(1), &file(2), PLACE, Names::One), &mut bytes);
    assert_eq!(read(&sums, &bytes).complete, None);
}

/// Reads a volume, and adds its records to an index.
pub(super) fn read_into(index: &mut Index, volume: u64, sums: &Sums, bytes: &[u8]) -> Scanned {
    // The limit of 100 bytes per read makes the window move.
    let mut read_at = |room: &mut [u8], offset: u64| {
        let left = bytes.get(usize::try_from(offset).unwrap()..).unwrap_or(&[]);
        let count = left.len().min(room.len()).min(100);
        room[..count].copy_from_slice(&left[..count]);
        Ok(count)
    };
    scan(sums, 0, &mut read_at, &mut |sum, record, offset, bytes| {
        index.take(sum, record, Told { volume, offset, bytes });
    })
    .expect("reading memory does not fail")
}

fn read(sums: &Sums, bytes: &[u8]) -> Scanned {
    read_into(&mut Index::default(), 0, sums, bytes)
}

fn read_index(sums: &Sums, bytes: &[u8]) -> (Scanned, Index) {
    let mut index = Index::default();
    let scanned = read_into(&mut index, 0, sums, bytes);
    index.settle();
    (scanned, index)
}

#[test]
fn files_may_be_published_until_a_record_says_that_they_are() {
    let sums = Sums::new(NONCE);
    let mut bytes = Vec::new();
    let publishing = |inos: &[u64]| {
        let files: Vec<_> =
            inos.iter().map(|ino| record::unpublished(identified(&file(*ino)))).collect();
        record::publishing(&files)
    };
    let first = frame(&sums, &publishing(&[11, 12]), &mut bytes);
    frame(&sums, &publishing(&[14]), &mut bytes);
    let mut touched = file(11);
    touched.mtime.nanoseconds += 1;
    let mut named = file(11);
    named.ctime.nanoseconds += 1;
    let may_be = |bytes: &[u8]| {
        let (_, index) = read_index(&sums, bytes);
        [file(11), named, touched, file(12), file(13), file(14)]
            .map(|file| index.may_be_published(identified(&file)))
    };
    assert_eq!(may_be(&bytes), [true, true, false, true, false, true]);
    frame(&sums, &record::published(first), &mut bytes);
    assert_eq!(may_be(&bytes), [false, false, false, false, false, true]);
    let (scanned, index) = read_index(&sums, &bytes);
    assert!(!index.is_empty() && scanned.records == 0);
}

/// A directory that was about to be made before a run was complete is the user's now, in whichever volume
/// the record is.
#[test]
fn modes_of_directories_count_until_a_run_is_complete() {
    let sums = Sums::new(NONCE);
    let at = Time { seconds: 1_700_000_001, nanoseconds: 0 };
    let place = |name| Place { name, ..PLACE };
    let volume = |records: &[Vec<u8>]| {
        let mut bytes = Vec::new();
        for record in records {
            frame(&sums, record, &mut bytes);
        }
        bytes
    };
    let modes = |main: &[u8], other: &[u8]| {
        let mut index = Index::default();
        read_into(&mut index, 0, &sums, main);
        let scanned = read_into(&mut index, 3, &sums, other);
        index.settle();
        let found = [c"a", c"b", c"c"].map(|name| index.directory(&record::place(place(name))));
        (found, scanned.round)
    };
    let before = record::directory(0o755, place(c"a"));
    let mark = record::complete(TARGET, at);
    let after = record::directory(0o700, place(c"b"));
    let main = volume(&[before.clone(), mark, after]);
    let other = record::directory(0o711, place(c"c"));
    assert_eq!(modes(&main, &volume(std::slice::from_ref(&other))), ([None, Some(0o700), None], 0));
    let named = volume(&[record::round(1), other.clone()]);
    assert_eq!(modes(&main, &named), ([None, Some(0o700), Some(0o711)], 1));
    let main = volume(&[before]);
    assert_eq!(modes(&main, &volume(&[other])), ([Some(0o755), None, Some(0o711)], 0));
}

#[test]
fn what_is_written_is_read() {
    let sums = Sums::new(NONCE);
    let (bytes, ends) = records(&sums);
    let (scanned, index) = read_index(&sums, &bytes);
    assert_eq!((scanned.end, scanned.records), (bytes.len() as u64, ends.len() as u64));
    assert_eq!(index.counts(), (3, 1, 1));
    let begun = &index.parts(&record::place(PLACE))[0];
    assert_eq!((begun.ino, begun.hidden.as_slice()), (6, b".haul-0123456789ab".as_slice()));
    let Told { offset, bytes: length, .. } = begun.told[0];
    let offset = usize::try_from(offset).unwrap();
    let pieces = read_pieces(&bytes[offset..offset + length]);
    assert_eq!(pieces, [Piece::new(0, 4096, &[1; 16]), Piece::new(8192, 100, &[2; 16])]);
    let sum = sums.of(&finished(&file(7), &file(8), PLACE, Names::One));
    assert!(index.is_finished(sum));
    assert_eq!(index.digest(sum), Some([9; 32].as_slice()));
    assert_eq!(index.directory(&record::place(PLACE)), Some(0o755));
    // Another size, time, inode, place or file system results in another record.
    let mut grown = file(7);
    grown.size += 1;
    let mut touched = file(8);
    touched.ctime.nanoseconds += 1;
    let elsewhere = Place { directory: 4, ..PLACE };
    let (seventh, eighth) = (file(7), file(8));
    let (source, target) = (identified(&seventh), identified(&eighth));
    let on = FileSystemId::of_number(2);
    let known = FinishedEntry { source, target, place: PLACE, names: Names::One };
    let other_source = FinishedEntry { source: Identified { on, ..source }, ..known };
    let other_target = FinishedEntry { target: Identified { on, ..target }, ..known };
    for other in [
        finished(&grown, &file(8), PLACE, Names::One),
        finished(&file(7), &touched, PLACE, Names::One),
        finished(&file(7), &file(8), elsewhere, Names::One),
        finished(&file(7), &file(8), PLACE, Names::Several),
        record::finished(&other_source),
        record::finished(&other_target),
    ] {
        assert!(!index.is_finished(sums.of(&other)));
    }
}

#[test]
fn a_journal_that_is_torn_anywhere_is_read_up_to_its_last_whole_record() {
    let sums = Sums::new(NONCE);
    let (bytes, ends) = records(&sums);
    for length in 0..=bytes.len() {
        let scanned = read(&sums, &bytes[..length]);
        let whole = ends.iter().filter(|end| **end <= length).count();
        let end = ends[..whole].last().copied().unwrap_or(0);
        assert_eq!((scanned.end, scanned.records), (end as u64, whole as u64), "{length}");
        // A power cut may also leave zeros.
        let mut zeros = bytes[..length].to_vec();
        zeros.resize(bytes.len() + 100, 0);
        assert_eq!(read(&sums, &zeros).records, scanned.records, "{length}");
    }
}

#[test]
fn a_flipped_bit_ends_a_journal_before_its_record() {
    let sums = Sums::new(NONCE);
    let (bytes, ends) = records(&sums);
    for at in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        let before = ends.iter().filter(|end| **end <= at / 8).count();
        assert_eq!(read(&sums, &flipped).records, before as u64, "bit {at}");
    }
    // The reader does not accept records of another journal.
    assert_eq!(read(&Sums::new([8; 8]), &bytes).records, 0);
}

#[test]
fn made_up_journals_are_read_without_trouble() {
    let sums = Sums::new(NONCE);
    let mut seed = 0x1234_5678_9abc_def1_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for round in 0..2000 {
        let length = usize::try_from(next() % 300).unwrap();
        let noise: Vec<u8> = (0..length).map(|_| next().to_le_bytes()[0]).collect();
        assert_eq!(read(&sums, &noise).records, 0);
        let _any = (header::read(&noise), record::read(&noise), read_pieces(&noise));
        // Random bytes in a valid frame: whatever they decode to, the reader continues after them.
        let mut framed = Vec::new();
        let mut noise = noise;
        noise.insert(0, u8::try_from(round % 9).unwrap());
        frame(&sums, &noise, &mut framed);
        let scanned = read(&sums, &framed);
        assert!(scanned.end == 0 || scanned.end == framed.len() as u64);
    }
}

#[test]
fn headers_are_whole_torn_foreign_or_of_another_version() {
    let bytes = header::spell(NONCE, true, b"cp -a s t");
    let header = header::read(&bytes).expect("it was just written");
    assert!(header.as_name);
    assert_eq!((header.nonce, header.run.as_slice()), (NONCE, b"cp -a s t".as_slice()));
    assert_eq!(header.bytes, bytes.len() as u64);
    for length in 0..bytes.len() {
        assert_eq!(header::read(&bytes[..length]).err(), Some(Flaw::Torn), "{length}");
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let flaw = header::read(&flipped).expect_err("a bit was flipped");
        let expected = match at {
            0..8 => Flaw::Foreign,
            8..12 => Flaw::Version,
            _ => Flaw::Torn,
        };
        assert_eq!(flaw, expected, "{at}");
    }
    assert_eq!(header::read(b"#!/bin/sh\n").err(), Some(Flaw::Foreign));
}
