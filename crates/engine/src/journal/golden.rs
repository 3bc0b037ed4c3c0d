//! Fixed journal from an earlier program: every later program has to read it and recognise its run.
//!
//! The code under test produces nothing here except the values to compare. Renaming a type or
//! variant therefore changes nothing, and a test fails if a word or record changes.

use std::ffi::CString;

use haul_io::digest::Algorithm;

use super::codes::WORDS;
use super::header::{self, Flaw, Relation};
use super::index::{Index, Told};
use super::record::{self, FinishedEntry, Names, Place, Read};
use super::scan::scan;
use super::sums::{Sum, Sums};
use crate::data::error::Aspect;
use crate::data::literals::{FILE, identified, stat};
use crate::data::request::{
    Backup, BackupKind, Dereference, Hashing, Keep, Links, ModePolicy, Policy, Preserve, Recursion,
    Request, Resources, Resume, TargetForm, Verify, WholeDigest,
};

/// Description of this run in the header.
const RUN: &[u8] = b"recursion=yes\n\
dereference=never\n\
make=copy\n\
specials=recreate\n\
preserve=mode:keep,ownership:try,times:must,links:keep,xattr:warn,context:no\n\
existing=overwrite\n\
consent=not-needed\n\
backup=numbered,suffix:0a7e\n\
parents=cut\n\
force=no\n\
target-links=strict\n\
borders=cross\n\
sparse=auto\n\
reflink=auto\n\
hashing=sha256,verify:repair,whole:tell\n\
umask=22\n\
privileged=no\n\
form=guess\n\
in=/home\0/mnt/target\0source";

/// Bytes before the description: the magic, the version, the nonce, whether the target is the new
/// name, and the length of the description.
const BEFORE_RUN: &[u8] = b"haulJRNL\x04\0\0\0\x07\x07\x07\x07\x07\x07\x07\x07\x01\x80\x01\0\0";

/// Checksum of the whole header.
const HEADER_SUM: [u8; 16] =
    [158, 102, 90, 225, 159, 164, 64, 56, 164, 118, 60, 158, 100, 44, 141, 50];

/// Record of a complete file, with its length and checksum.
const RECORD: [u8; 155] = [
    135, 0, 0, 0, 150, 51, 234, 227, 50, 84, 79, 242, 221, 33, 32, 85, 162, 169, 116, 233, 1, 1, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100,
    0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0,
    0, 5, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 97, 32, 110, 97, 109, 101,
];

fn golden() -> Vec<u8> {
    [BEFORE_RUN, RUN, &HEADER_SUM, &RECORD].concat()
}

fn request() -> Request {
    let preserve = Preserve {
        mode: ModePolicy::Keep,
        ownership: Keep::Try,
        times: Keep::Must,
        links: Links::Keep,
        xattr: Keep::Warn,
        context: Keep::No,
        flags: Keep::No,
    };
    let hashing = Hashing {
        algorithm: Algorithm::find("sha256").expect("a known algorithm"),
        verify: Verify::Repair,
        whole: WholeDigest::Tell,
    };
    let policy = Policy {
        recursion: Recursion::Yes,
        dereference: Dereference::Never,
        preserve,
        // A suffix may contain any byte, including a newline.
        backup: Some(Backup { kind: BackupKind::Numbered, suffix: b"\n~".to_vec() }),
        hashing: Some(hashing),
        privileged: false,
        ..Policy::plain(0o022)
    };
    Request {
        sources: vec![CString::from(c"source")],
        target: CString::from(c"/mnt/target"),
        form: TargetForm::Guess,
        policy,
        resources: Resources { jobs: 1, waiting_jobs: 1, descriptors: 100 },
        resume: None,
    }
}

fn run_of(request: &Request) -> Vec<u8> {
    header::describe(request, &Resume { journal: None, here: b"/home".to_vec() })
}

const PLACE: Place<'static> = Place { directory: 3, name: c"a name" };

#[test]
fn a_journal_that_was_written_once_is_known_again() {
    let bytes = golden();
    let header = header::read(&bytes).expect("a header of this version");
    assert!(header.as_name);
    assert_eq!(String::from_utf8_lossy(&header.run), String::from_utf8_lossy(RUN));
    assert_eq!(header.run, run_of(&request()));
    let sums = Sums::new(header.nonce);
    let mut read_at = |room: &mut [u8], offset: u64| {
        let left = bytes.get(usize::try_from(offset).unwrap()..).unwrap_or(&[]);
        let count = left.len().min(room.len());
        room[..count].copy_from_slice(&left[..count]);
        Ok(count)
    };
    let mut index = Index::default();
    let mut take = |sum: Sum, record: &Read<'_>, offset: u64, bytes: usize| {
        index.take(sum, record, Told { volume: 0, offset, bytes });
    };
    let scanned = scan(&sums, header.bytes, &mut read_at, &mut take);
    let scanned = scanned.expect("reading memory does not fail");
    index.settle();
    assert_eq!((scanned.records, scanned.end), (1, bytes.len() as u64));
    let (source, target) = (stat(1, FILE), stat(2, FILE));
    let (source, target) = (identified(&source), identified(&target));
    let entry = FinishedEntry { source, target, place: PLACE, names: Names::One };
    let record = record::finished(&entry);
    assert!(index.is_finished(sums.of(&record)));
}

#[test]
fn other_options_are_told_by_what_they_are() {
    let with = |change: &dyn Fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        match header::compare(RUN, &run_of(&request)) {
            Relation::SameOperands(differences) => differences.aspects().collect::<Vec<_>>(),
            Relation::Other => panic!("the same operands"),
        }
    };
    assert_eq!(with(&|_| {}), []);
    assert_eq!(with(&|request| request.policy.backup = None), [Aspect::Backup]);
    let suffix = b"\n".to_vec();
    let backup = Backup { kind: BackupKind::Numbered, suffix };
    let other_suffix = Some(backup);
    assert_eq!(with(&|request| request.policy.backup = other_suffix.clone()), [Aspect::Backup]);
    assert_eq!(with(&|request| request.policy.hashing = None), [Aspect::Hashing]);
    assert_eq!(with(&|request| request.policy.privileged = true), [Aspect::Privileged]);
    let target = CString::from(c"/mnt/target/");
    assert_eq!(with(&|request| request.target = target.clone()), [Aspect::Operands]);
}

#[test]
fn journals_of_other_versions_are_not_read() {
    for version in [0, 1, 2, 3, 5, u32::MAX] {
        let mut bytes = golden();
        bytes[8..12].copy_from_slice(&u32::to_le_bytes(version));
        assert_eq!(header::read(&bytes).err(), Some(Flaw::Version), "{version}");
    }
}

#[test]
fn each_value_has_a_word_that_no_other_value_has() {
    for (of, words) in WORDS {
        let mut seen: Vec<_> = words.to_vec();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), words.len(), "{of}: {words:?}");
        for word in *words {
            let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(is_plain && !word.is_empty(), "{of}: {word:?}");
        }
    }
}

/// Another program reads the file, so the names of this program's types must not occur in it.
#[test]
fn nothing_is_written_by_the_names_of_types() {
    let sources = [
        ("aspect.rs", include_str!("../data/aspect.rs")),
        ("codes.rs", include_str!("codes.rs")),
        ("header.rs", include_str!("header.rs")),
        ("open.rs", include_str!("open.rs")),
        ("record.rs", include_str!("record.rs")),
        ("write.rs", include_str!("write.rs")),
    ];
    for (name, text) in sources {
        assert!(!text.contains("?}"), "{name} formats a value as it is debugged");
    }
}
