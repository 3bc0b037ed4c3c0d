//! Units that arrive: what is removed, and what is refused because it is not what was found.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use haul_sys::Errno;
use haul_sys::fs::{Kind, Time};

use super::kept::Kept;
use super::unit::{Level, Name, Place, Unit};
use crate::data::error::What;
use crate::data::monitor::{Control, Report};
use crate::data::request::Recursion;
use crate::data::resources::Resources;
use crate::peers::unit::Work;
use crate::peers::{Exchange, Peers, Ranks};
use crate::remove::{Missing, Policy, Request, remove_among};

/// Sends one unit, and waits until it is done.
struct Sender {
    bytes: Vec<u8>,
    kept: Option<Kept>,
}

impl Peers for Sender {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        exchange.receive(7, std::mem::take(&mut self.bytes));
        while self.kept.is_none() {
            let done = exchange.completed();
            self.kept = done.first().map(|(token, answer)| {
                assert_eq!((*token, done.len()), (7, 1));
                Kept::of(answer)
            });
            std::thread::yield_now();
        }
    }
}

/// Removes a unit as rank 1. Returns what stays, and what was reported.
fn adopt(bytes: Vec<u8>) -> (Kept, Vec<(What, Option<Errno>)>) {
    // A name that does not exist may be ignored, a directory of a unit never.
    let policy = Policy { recursion: Recursion::Yes, missing: Missing::Ignore, ..Policy::PLAIN };
    let request = Request::of_names([], policy, Resources::available());
    let (failures, stop) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let note = |report: Report<'_>| {
        if let Report::Failed(failure) = report {
            failures.lock().push((failure.what, failure.errno));
        }
    };
    let mut sender = Sender { bytes, kept: None };
    let ranks = Ranks { own: 1, count: 2 };
    remove_among(&request, ranks, &mut sender, &note, &Control::new(&stop)).unwrap();
    (sender.kept.unwrap(), failures.into_inner())
}

fn name(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// Makes `tree/in/file` and `precious/file`, and returns the scratch directory and the chain to
/// `tree/in`.
fn scratch() -> (tempfile::TempDir, Vec<Level>) {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, precious) = (scratch.path().join("tree"), scratch.path().join("precious"));
    fs::create_dir_all(tree.join("in")).unwrap();
    fs::create_dir(&precious).unwrap();
    fs::write(tree.join("in/file"), "").unwrap();
    fs::write(precious.join("file"), "").unwrap();
    let ino = |path: &Path| path.metadata().unwrap().ino();
    let levels = vec![
        Level { name: name(&tree), ino: ino(&tree) },
        Level { name: c"in".to_owned(), ino: ino(&tree.join("in")) },
    ];
    (scratch, levels)
}

fn file_in(levels: Vec<Level>, birth: Option<Time>) -> Vec<u8> {
    let file = Name { name: c"file".to_owned(), kind: Some(Kind::Regular), ino: 0 };
    Unit { place: Place { levels, birth }, work: Work::Entries(vec![file]) }.encode()
}

#[test]
fn the_entries_of_a_unit_are_removed_and_nothing_above_them() {
    let (scratch, levels) = scratch();
    assert_eq!(adopt(file_in(levels, None)), (Kept::Nothing, vec![]));
    let inner = scratch.path().join("tree/in");
    assert_eq!(fs::read_dir(inner).unwrap().count(), 0, "the finder removes the directory");
}

#[test]
fn the_directory_of_a_unit_is_removed_as_a_whole() {
    let (scratch, mut levels) = scratch();
    levels.pop();
    let inner = Name { name: c"in".to_owned(), kind: Some(Kind::Directory), ino: 0 };
    let place = Place { levels, birth: None };
    let unit = Unit { place, work: Work::One(inner) };
    assert_eq!(adopt(unit.encode()), (Kept::Nothing, vec![]));
    assert_eq!(fs::read_dir(scratch.path().join("tree")).unwrap().count(), 0);
}

#[test]
fn a_directory_that_was_replaced_is_refused() {
    let stale = (Kept::Entries, vec![(What::Remove, Some(Errno::STALE))]);
    let (scratch, mut levels) = scratch();
    levels[1].ino += 1;
    assert_eq!(adopt(file_in(levels.clone(), None)), stale);
    levels[1].ino -= 1;
    levels[0].ino += 1;
    assert_eq!(adopt(file_in(levels, None)), stale);
    assert!(scratch.path().join("tree/in/file").exists());
}

#[test]
fn a_directory_of_another_file_system_with_the_same_numbers_is_refused() {
    let (scratch, levels) = scratch();
    let birth = Some(Time { seconds: 1, nanoseconds: 1 });
    let knows = haul_sys::fs::birth_at(haul_sys::fs::CWD, &levels[0].name).unwrap().is_some();
    let (kept, _) = adopt(file_in(levels, birth));
    // Without creation times only the inode numbers can be compared.
    assert_eq!(kept, if knows { Kept::Entries } else { Kept::Nothing });
    assert_eq!(scratch.path().join("tree/in/file").exists(), knows);
}

#[test]
fn a_symbolic_link_in_the_chain_is_not_followed() {
    let (scratch, mut levels) = scratch();
    let precious = scratch.path().join("precious");
    fs::rename(scratch.path().join("tree/in"), scratch.path().join("moved")).unwrap();
    symlink(&precious, scratch.path().join("tree/in")).unwrap();
    levels[1].ino = precious.metadata().unwrap().ino();
    let (kept, failures) = adopt(file_in(levels, None));
    assert_eq!((kept, failures.len()), (Kept::Entries, 1), "{failures:?}");
    assert!(precious.join("file").exists());
}

#[test]
fn a_chain_that_is_gone_is_a_failure_although_missing_names_are_ignored() {
    let (scratch, levels) = scratch();
    fs::rename(scratch.path().join("tree"), scratch.path().join("moved")).unwrap();
    let missing = (Kept::Entries, vec![(What::Remove, Some(Errno::NOENT))]);
    assert_eq!(adopt(file_in(levels, None)), missing);
}

#[test]
fn a_unit_that_is_no_unit_is_a_failure() {
    assert_eq!(adopt(vec![1, 2, 3]), (Kept::Entries, vec![(What::Remove, Some(Errno::PROTO))]));
}
