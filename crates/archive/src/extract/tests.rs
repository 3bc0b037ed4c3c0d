//! Hostile archives, made at random: whatever their members are, nothing outside the target changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{
    Appearance, Devices, Event, Existing, Extractor, Monitor, Names, Owners, Permissions, Policy,
    Times,
};
use crate::format::{
    BLOCK_BYTES, Layout, Member, MemberKind, Moment, Next, OwnerNames, PaxOptions, Reader,
    SparseVersion, Style, WriteFormat, Zeros, headers,
};
use crate::safe_name::safe_name;
use crate::source::{FileSource, Source, StreamSource};

struct Silent;

impl Monitor for Silent {
    fn event(&self, _: &[u8], _: &Event) {}

    fn hashed(&self, _: &[u8], _: &[u8]) {}
}

/// Members collide, lead out and go through links only if names have few different components.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let component = prop_oneof![
        6 => Just("a"), 4 => Just("b"), 2 => Just("A"), 2 => Just("planted"), 2 => Just(".."),
        1 => Just("."), 1 => Just(""), 1 => Just("out"), 1 => Just("secret"),
    ];
    (any::<u8>(), proptest::collection::vec(component, 1..5)).prop_map(|(beginning, components)| {
        let path = components.join("/");
        let path = if beginning < 16 { format!("/{path}") } else { path };
        if path.is_empty() { b"a".to_vec() } else { path.into_bytes() }
    })
}

/// Returns a directory of the name `d/`.
pub(super) fn directory() -> Member {
    Member {
        layout: Layout::Ustar,
        is_extended: false,
        kind: MemberKind::Directory,
        name: b"d/".to_vec(),
        link: Vec::new(),
        mode: 0o755,
        uid: 0,
        gid: 0,
        user: Vec::new(),
        group: Vec::new(),
        size: 0,
        mtime: Moment { seconds: 1_000_000_000, nanoseconds: 0 },
        atime: None,
        ctime: None,
        device: (0, 0),
        regions: None,
        xattrs: Vec::new(),
        acls: [None, None],
        context: None,
        header_offset: 0,
        data_offset: 0,
        stored_bytes: 0,
    }
}

fn member() -> impl Strategy<Value = Member> {
    let kind = prop_oneof![
        4 => Just(MemberKind::Regular),
        3 => Just(MemberKind::Directory),
        5 => Just(MemberKind::Symlink),
        4 => Just(MemberKind::HardLink),
        1 => Just(MemberKind::Fifo),
    ];
    (kind, path(), path(), 0_u32..0o1000).prop_map(|(kind, name, link, mode)| {
        let stored_bytes = if kind == MemberKind::Regular { 3 } else { 0 };
        let is_link = matches!(kind, MemberKind::Symlink | MemberKind::HardLink);
        let link = if is_link { link } else { Vec::new() };
        Member { kind, name, link, mode, size: stored_bytes, stored_bytes, ..directory() }
    })
}

fn archive(members: &[Member]) -> Vec<u8> {
    let sparse = SparseVersion::V10;
    let pax = PaxOptions::default();
    let style = Style {
        extra: crate::format::ExtraHeader::Omit,
        format: WriteFormat::Gnu,
        owners: OwnerNames::Write,
        extended_mtime: None,
        sparse,
        link_kind: 0o100_000,
        pax: &pax,
        boundary: None,
    };
    let mut bytes = Vec::new();
    for member in members {
        bytes.extend(headers(member, &member.name, style).unwrap());
        let end = bytes.len() + usize::try_from(member.stored_bytes).unwrap();
        bytes.resize(end, b'd');
        bytes.resize(end.next_multiple_of(BLOCK_BYTES), 0);
    }
    bytes.resize(bytes.len() + 2 * BLOCK_BYTES, 0);
    bytes
}

/// What of an entry must not change: its kind and mode, its names, its time, and its bytes or target.
type State = (u32, u64, (i64, i64), Vec<u8>);

/// Describes all entries below a folder, except those of the target.
fn outside(folder: &Path) -> BTreeMap<PathBuf, State> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        let mut bytes = Vec::new();
        if stat.is_dir() && path != folder.join("in") {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if stat.is_symlink() {
            bytes = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
        } else if stat.is_file() {
            bytes = fs::read(&path).unwrap();
        }
        if !path.ends_with("in") {
            found.insert(
                path,
                (stat.mode(), stat.nlink(), (stat.mtime(), stat.mtime_nsec()), bytes),
            );
        }
    }
    found
}

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["in", "out/a", "a"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    for name in ["out/secret", "out/a/b", "secret", "a/b"] {
        fs::write(folder.path().join(name), "secret").unwrap();
    }
    symlink("../out", folder.path().join("in/planted")).unwrap();
    folder
}

fn policy(existing: Existing, appearance: Appearance) -> Policy {
    Policy {
        existing,
        permissions: Permissions::Exact,
        owners: Owners::Own,
        names: Names::Beneath,
        devices: Devices::Refuse,
        times: Times::Archive,
        archive: None,
        appearance,
        resumes: false,
        data: haul_io::DataPolicy::PLAIN,
        keeps_links_to_directories: false,
        removes_trees: false,
        user: 0,
        umask: 0o22,
        workers: 2,
        waiting_workers: 2,
    }
}

/// Extracts all members, as the command does.
fn extract<S: Source>(source: S, target: &Path, policy: Policy) {
    let target = OwnedFd::from(fs::File::open(target).unwrap());
    let file = source.file();
    let mut extractor = Extractor::new(target, policy, Arc::new(Silent), file).unwrap();
    let mut reader = Reader::new(source, Zeros::End);
    loop {
        match reader.advance() {
            Ok(Next::Member(member)) => {
                // What the command removes first, and what it would leave to the extractor's own guard.
                let (name, link) = match member.mode % 3 {
                    0 => (member.name.clone(), member.link.clone()),
                    _ => (
                        safe_name(&member.name).rest.to_vec(),
                        safe_name(&member.link).rest.to_vec(),
                    ),
                };
                if extractor.member(&mut reader, member, &name, &link).is_err() {
                    break;
                }
            }
            Ok(Next::End) | Err(_) => break,
            Ok(_) => {}
        }
    }
    extractor.finish();
}

/// Keeps the events that are failures.
#[derive(Default)]
struct Failures(std::sync::Mutex<Vec<(Vec<u8>, Event)>>);

impl Monitor for Failures {
    fn event(&self, name: &[u8], event: &Event) {
        if event.is_failure() {
            self.0.lock().unwrap().push((name.to_vec(), event.clone()));
        }
    }

    fn hashed(&self, _: &[u8], _: &[u8]) {}
}

/// A file system without numbers of files that last looks like one whose files another process exchanges.
#[test]
fn what_has_another_identity_at_the_end_is_told() {
    let link = Member {
        kind: MemberKind::Symlink,
        name: b"link".to_vec(),
        link: b"../out".to_vec(),
        ..directory()
    };
    let again = Member { name: b"e/".to_vec(), ..directory() };
    let members = [directory(), again.clone(), link, again];
    let folder = scene();
    let target = folder.path().join("in");
    let failures = Arc::new(Failures::default());
    let bytes = archive(&members);
    let source = StreamSource::new(bytes.as_slice());
    let opened = OwnedFd::from(fs::File::open(&target).unwrap());
    let policy = policy(Existing::Replace, Appearance::Gradual);
    let mut extractor =
        Extractor::new(opened, policy, Arc::<Failures>::clone(&failures), None).unwrap();
    let mut reader = Reader::new(source, Zeros::End);
    while let Ok(Next::Member(member)) = reader.advance() {
        let (name, link) = (member.name.clone(), member.link.clone());
        extractor.member(&mut reader, member, &name, &link).unwrap();
    }
    for (name, is_directory) in [("d", true), ("link", false)] {
        let old = target.join(name);
        fs::rename(&old, target.join(format!("{name}.old"))).unwrap();
        if is_directory { fs::create_dir(&old).unwrap() } else { fs::write(&old, "").unwrap() }
    }
    extractor.finish();
    let mut told = std::mem::take(&mut *failures.0.lock().unwrap());
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let exchanged = |name: &[u8]| (name.to_vec(), Event::Exchanged);
    assert_eq!(told, [exchanged(b"d/"), exchanged(b"link")]);
}

fn existing() -> impl Strategy<Value = Existing> {
    prop_oneof![
        Just(Existing::Replace),
        Just(Existing::Overwrite),
        Just(Existing::UnlinkFirst),
        Just(Existing::KeepNewer),
        Just(Existing::ReplaceKeepingDirectories),
    ]
}

fn appearance() -> impl Strategy<Value = Appearance> {
    prop_oneof![Just(Appearance::Gradual), Just(Appearance::Whole), Just(Appearance::Durable)]
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn no_sequence_of_members_changes_anything_outside(
        members in proptest::collection::vec(member(), 1..10),
        how in (existing(), appearance()),
        is_stream in any::<bool>(),
    ) {
        let folder = scene();
        let bytes = archive(&members);
        let before = outside(folder.path());
        if is_stream {
            extract(StreamSource::new(&bytes[..]), &folder.path().join("in"), policy(how.0, how.1));
        } else {
            let mut file = tempfile::tempfile().unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            let source = FileSource::new(Arc::new(file.into()), 0, bytes.len() as u64);
            extract(source, &folder.path().join("in"), policy(how.0, how.1));
        }
        let after = outside(folder.path());
        // Directories without permissions must not keep the folder from being removed.
        reopen(&folder.path().join("in"));
        prop_assert_eq!(before, after);
    }

    #[test]
    fn changed_bytes_change_nothing_outside(
        members in proptest::collection::vec(member(), 1..6),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8),
        how in (existing(), appearance()),
    ) {
        let folder = scene();
        let mut bytes = archive(&members);
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
            crate::format::reseal(&mut bytes, at);
        }
        let before = outside(folder.path());
        extract(StreamSource::new(&bytes[..]), &folder.path().join("in"), policy(how.0, how.1));
        let after = outside(folder.path());
        reopen(&folder.path().join("in"));
        prop_assert_eq!(before, after);
    }
}

fn reopen(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            reopen(&path);
        }
    }
}

/// What is in an existing directory may be newer than the archive.
#[test]
fn a_tree_stays_where_newer_files_stay() {
    let member = Member { name: b"a/".to_vec(), ..directory() };
    let file = Member { kind: MemberKind::Regular, name: b"a".to_vec(), ..member.clone() };
    for existing in [Existing::Keep, Existing::KeepNewer, Existing::Skip] {
        for member in [&member, &file] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("a")).unwrap();
            fs::write(folder.path().join("a/newer"), "mine").unwrap();
            let policy = Policy { removes_trees: true, ..policy(existing, Appearance::Gradual) };
            let bytes = archive(std::slice::from_ref(member));
            extract(StreamSource::new(&bytes[..]), folder.path(), policy);
            let found = fs::read(folder.path().join("a/newer")).unwrap();
            assert_eq!(found, b"mine", "{existing:?} {:?}", member.kind);
        }
    }
}
