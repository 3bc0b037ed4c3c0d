//! Tests the volumes of a journal: they are found, locked, read in any order, and never confused with
//! other files.

use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use haul_io::block_digests::Piece;
use haul_io::fully::write_fully;
use haul_io::hidden::is_hidden_name;
use tempfile::TempDir;

use super::Set;
use crate::data::error::JournalFlaw;
use crate::data::literals::{FILE, identified, stat};
use crate::journal::Conclusion;
use crate::journal::header;
use crate::journal::index::Index;
use crate::journal::open::read_all;
use crate::journal::own_file::OpenError;
use crate::journal::record::{self, FinishedEntry, Names, Place, frame};
use crate::journal::scan::Scanned;
use crate::journal::shared::Shared;
use crate::journal::sums::Sums;
use crate::journal::tests::read_into;
use crate::journal::write::{Ended, Journal, Kept, Spot};

const NONCE: [u8; 8] = [7; 8];

const PLACE: Place<'static> = Place { directory: 3, name: c"large" };

struct Scene {
    scratch: TempDir,
    directory: File,
}

impl Scene {
    fn new() -> Scene {
        let scratch = tempfile::tempdir().unwrap();
        let directory = File::open(scratch.path()).unwrap();
        Scene { scratch, directory }
    }

    fn set(&self, nonce: [u8; 8]) -> Set<'_> {
        Set { directory: self.directory.as_fd(), journal: c"journal", nonce }
    }

    fn spot(&self) -> Spot {
        let directory = self.directory.try_clone().unwrap().into();
        Spot { directory, name: c"journal".to_owned(), shown: b"journal".to_vec() }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.scratch.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn finished(ino: u64) -> Vec<u8> {
    let (source, target) = (stat(ino, FILE), stat(ino + 1, FILE));
    let (source, target) = (identified(&source), identified(&target));
    record::finished(&FinishedEntry { source, target, place: PLACE, names: Names::One })
}

fn flaw<T>(opened: Result<T, OpenError>) -> JournalFlaw {
    match opened.err() {
        Some(OpenError::Volume(error, _)) => match *error {
            OpenError::Flaw(flaw) => flaw,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn shut(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn pieces_are_found_whichever_volume_is_read_first() {
    let sums = Sums::new(NONCE);
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let attempt = |ino, into: &mut Vec<u8>| {
        frame(
            &sums,
            &record::part(identified(&stat(5, FILE)), ino, c".haul-0123456789ab", PLACE),
            into,
        )
    };
    let first = attempt(6, &mut one);
    let second = attempt(7, &mut two);
    let piece = |of, offset, into: &mut Vec<u8>| {
        frame(&sums, &record::pieces(of, &[Piece::new(offset, 10, &[1; 16])], 16), into);
    };
    // Another process goes on with the file of the first attempt.
    piece(first, 0, &mut one);
    piece(first, 10, &mut two);
    piece(second, 20, &mut one);
    for order in [[(1, &one), (2, &two)], [(2, &two), (1, &one)]] {
        let mut index = Index::default();
        for (volume, bytes) in order {
            read_into(&mut index, volume, &sums, bytes);
        }
        index.settle();
        let mut attempts: Vec<(u64, Vec<u64>)> = Vec::new();
        for begun in index.parts(&record::place(PLACE)) {
            let mut volumes: Vec<u64> = begun.told.iter().map(|told| told.volume).collect();
            volumes.sort_unstable();
            attempts.push((begun.ino, volumes));
        }
        attempts.sort_unstable();
        assert_eq!(attempts, [(6, vec![1, 2]), (7, vec![1])]);
    }
}

#[test]
fn pieces_in_volumes_of_other_processes_are_read() {
    let scene = Scene::new();
    let set = scene.set(NONCE);
    let sums = Sums::new(NONCE);
    let piece = |offset| Piece::new(offset, 10, &[1; 16]);
    let write = |volume, records: &[u8]| {
        let (fd, scanned) = set.take(volume, &mut Index::default()).unwrap();
        write_fully(&fd, records, scanned.end).unwrap();
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let id = frame(
        &sums,
        &record::part(identified(&stat(5, FILE)), 6, c".haul-0123456789ab", PLACE),
        &mut one,
    );
    frame(&sums, &record::pieces(id, &[piece(0)], 16), &mut one);
    frame(&sums, &record::pieces(id, &[piece(10), piece(20)], 16), &mut two);
    write(1, &one);
    write(2, &two);
    for own in [1, 2, 3] {
        let mut index = Index::default();
        let (fd, scanned) = set.take(own, &mut index).unwrap();
        (1..4).filter(|volume| *volume != own).for_each(|volume| {
            set.read(volume, &mut index).unwrap();
        });
        index.settle();
        let spot = scene.spot();
        let (volumes, kept) = (4, Kept::default());
        let file =
            crate::journal::write::File { fd, spot, nonce: NONCE, volume: own, volumes, kept };
        let journal = Journal::new(file, scanned, index, c"target");
        let mut pieces = journal.pieces(&journal.parts(PLACE)[0]);
        pieces.sort_unstable_by_key(|piece| piece.offset);
        assert_eq!(pieces, [piece(0), piece(10), piece(20)], "volume {own}");
    }
}

#[test]
fn a_journal_is_removed_only_if_no_volume_can_have_records() {
    let story = |in_volume: &[u8], has_joined| {
        let scene = Scene::new();
        let set = scene.set(NONCE);
        let (fd, scanned) = set.take(1, &mut Index::default()).unwrap();
        write_fully(&fd, in_volume, scanned.end).unwrap();
        let mut index = Index::default();
        set.read(1, &mut index).unwrap();
        index.settle();
        // The first process has recorded nothing.
        let fd = File::create_new(scene.scratch.path().join("journal")).unwrap().into();
        let spot = scene.spot();
        let (volume, volumes, kept) = (0, 2, Kept::default());
        let file = crate::journal::write::File { fd, spot, nonce: NONCE, volume, volumes, kept };
        let empty = Scanned { volumes, ..Scanned::nothing(0) };
        let journal = Journal::new(file, empty, index, c"target");
        let others = Conclusion { is_complete: false, found: 0, records: 0, has_joined };
        (journal.end_incomplete(others).unwrap(), scene.names())
    };
    let sums = Sums::new(NONCE);
    let framed = |record: &[u8]| {
        let mut bytes = Vec::new();
        frame(&sums, record, &mut bytes);
        bytes
    };
    let both = ["journal", "journal.1"].map(str::to_owned).to_vec();
    let part = record::part(identified(&stat(5, FILE)), 6, c".haul-0123456789ab", PLACE);
    for record in [finished(1), part, record::directory(0o755, PLACE)] {
        for has_joined in [false, true] {
            assert_eq!(story(&framed(&record), has_joined), (Ended::Kept, both.clone()));
        }
    }
    assert_eq!(story(b"", false), (Ended::Kept, both));
    assert_eq!(story(b"", true), (Ended::Removed, Vec::new()));
}

#[test]
fn a_volume_is_locked_by_its_writer_and_read_by_the_others() {
    let scene = Scene::new();
    let set = scene.set(NONCE);
    let sums = Sums::new(NONCE);
    let (fd, scanned) = set.take(3, &mut Index::default()).unwrap();
    assert_eq!(scene.names(), ["journal.3"]);
    assert_eq!(flaw(set.take(3, &mut Index::default())), JournalFlaw::InUse);
    assert_eq!(flaw(set.keep(3, &mut Index::default())), JournalFlaw::InUse);
    let mut records = Vec::new();
    let sum = frame(&sums, &finished(1), &mut records);
    // A torn record follows.
    frame(&sums, &finished(2), &mut records);
    records.pop();
    write_fully(&fd, &records, scanned.end).unwrap();
    let mut index = Index::default();
    set.read(3, &mut index).unwrap();
    set.read(2, &mut index).unwrap();
    index.settle();
    assert!(index.is_finished(sum));
    drop(fd);
    let (fd, again) = set.take(3, &mut Index::default()).unwrap();
    let whole = scanned.end + records.len() as u64 - (20 + finished(2).len() as u64 - 1);
    assert_eq!((again.records, again.end), (1, whole));
    assert_eq!(fs::metadata(scene.scratch.path().join("journal.3")).unwrap().len(), whole);
    drop(fd);
    let kept = set.keep(3, &mut Index::default()).unwrap().map(|(_, records)| records);
    assert_eq!(kept, Some(1));
    assert!(set.keep(2, &mut Index::default()).unwrap().is_none());
}

#[test]
fn a_process_that_does_not_see_the_journal_makes_no_volume() {
    let scene = Scene::new();
    let shared = Shared { path: c"journal".to_owned(), nonce: NONCE, volumes: 2 };
    let join = || read_all(c"target", scene.spot(), &shared, 1);
    assert!(matches!(join().err(), Some(OpenError::Flaw(JournalFlaw::NotSeen))));
    assert_eq!(scene.names(), Vec::<String>::new());
    let path = scene.scratch.path().join("journal");
    fs::write(&path, header::spell([8; 8], true, b"cp")).unwrap();
    shut(&path);
    assert!(matches!(join().err(), Some(OpenError::Flaw(JournalFlaw::AnotherRun))));
    assert_eq!(scene.names(), ["journal"]);
    fs::write(&path, header::spell(NONCE, true, b"cp")).unwrap();
    assert!(join().is_ok());
    assert_eq!(scene.names(), ["journal", "journal.1"]);
}

#[test]
fn a_volume_of_another_journal_is_not_read_but_started_anew() {
    let scene = Scene::new();
    let (fd, scanned) = scene.set([8; 8]).take(1, &mut Index::default()).unwrap();
    let mut records = Vec::new();
    frame(&Sums::new([8; 8]), &finished(1), &mut records);
    write_fully(&fd, &records, scanned.end).unwrap();
    drop(fd);
    let set = scene.set(NONCE);
    let mut index = Index::default();
    set.read(1, &mut index).unwrap();
    index.settle();
    assert!(!index.has_finished());
    set.remove(2);
    assert_eq!(scene.names(), ["journal.1"], "the volume of another journal stays");
    let (_, scanned) = set.take(1, &mut Index::default()).unwrap();
    assert_eq!(scanned.records, 0);
    set.remove(2);
    assert_eq!(scene.names(), Vec::<String>::new());
}

#[test]
fn files_that_are_no_volumes_stay_as_they_are() {
    let journal = header::spell(NONCE, true, b"recursion=yes");
    let plain = b"something of the user's".to_vec();
    for (bytes, expected) in [(journal, JournalFlaw::AnotherRun), (plain, JournalFlaw::NotAJournal)]
    {
        let scene = Scene::new();
        let path = scene.scratch.path().join("journal.1");
        fs::write(&path, &bytes).unwrap();
        let set = scene.set(NONCE);
        shut(&path);
        assert_eq!(flaw(set.take(1, &mut Index::default())), expected);
        set.read(1, &mut Index::default()).unwrap();
        assert!(set.keep(1, &mut Index::default()).unwrap().is_none());
        set.remove(2);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn volumes_of_a_hidden_journal_have_hidden_names() {
    let scene = Scene::new();
    let hidden = haul_io::hidden::name_of([3; 12]).unwrap();
    let set = Set { journal: &hidden, ..scene.set(NONCE) };
    assert_eq!(set.name(0), hidden);
    let names: std::collections::HashSet<_> = (0..100).map(|volume| set.name(volume)).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|name| is_hidden_name(name.to_bytes())));
}

#[test]
fn the_number_of_volumes_is_read_and_counts_as_no_record() {
    let sums = Sums::new(NONCE);
    let mut bytes = Vec::new();
    for count in [4, 2, u64::MAX] {
        frame(&sums, &record::volumes(count), &mut bytes);
        let scanned = read_into(&mut Index::default(), 0, &sums, &bytes);
        let expected = if count == u64::MAX { 1 << 20 } else { 4 };
        assert_eq!((scanned.volumes, scanned.records), (expected, 0));
    }
}
