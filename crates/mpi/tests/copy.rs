//! Copies by ranks that are threads of one process, compared with their sources by the oracle.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use haul_engine::error::What;
use haul_engine::monitor::Counts;
use haul_engine::peers::Unsupported;
use haul_engine::request::{
    Appearance, Backup, BackupKind, Dereference, Hashing, Keep, Policy, Preserve, Recursion,
    Request, Resources, Verify, WholeDigest,
};
use haul_faultfs::{Case, Config, Mounted};
use haul_io::digest::Algorithm;
use haul_manifest::{create_tree, random_tree, remove_tree};

use crate::ranks::{Reports, Scratch, carry_out, limits};

/// The policy of `cp -a` by root.
pub(crate) fn archive() -> Policy {
    Policy::plain(0o022)
        .recursion(Recursion::Yes)
        .dereference(Dereference::Never)
        .preserve(Preserve::ALL.ownership(Keep::Try))
}

pub(crate) fn request(scratch: &Scratch, policy: Policy) -> Request {
    let resources = Resources::available().jobs(2).waiting_jobs(2);
    Request::new([scratch.a()], scratch.b(), policy).unwrap().resources(resources)
}

pub(crate) fn copy(
    request: &Request,
    ranks: usize,
    reports: &Reports,
    stop: &AtomicBool,
) -> Vec<Result<Counts, Unsupported>> {
    carry_out(request, ranks, reports, stop, haul_mpi::copy)
}

/// Copies `a` to `b`, asserts that nothing failed and that both are equal, and returns the reports.
fn copies_equal(scratch: &Scratch, ranks: usize, reports: Reports, story: &str) -> Reports {
    let request = request(scratch, archive());
    let returned = copy(&request, ranks, &reports, &AtomicBool::new(false));
    assert_eq!(*reports.failures.lock().unwrap(), [], "{story}");
    assert_eq!(returned[0].map(|counts| counts.failures), Ok(0), "{story}");
    scratch.assert_equal(story);
    reports
}

#[test]
fn random_trees_are_copied_equal_by_one_to_eight_ranks() {
    for (seed, ranks) in (1..).zip([1, 2, 3, 4, 8, 2, 3, 4]) {
        let scratch = Scratch::new();
        create_tree(&scratch.a(), random_tree(seed, &limits())).unwrap();
        let story = format!("seed {seed}, {ranks} ranks");
        copies_equal(&scratch, ranks, Reports::default(), &story);
    }
}

#[test]
fn a_flat_directory_is_shared_and_copied_equal() {
    let scratch = Scratch::with("flat:files=4000,size=100,seed=1");
    let held_back = Reports { holds_back: true, ..Reports::default() };
    let reports = copies_equal(&scratch, 3, held_back, "flat");
    assert!(reports.by_others.into_inner() > 0, "rank 0 did everything");
}

#[test]
fn many_directories_are_shared_and_copied_equal() {
    let scratch = Scratch::with("nested:files=4000,dirs=400,size=100,seed=2");
    let held_back = Reports { holds_back: true, ..Reports::default() };
    let reports = copies_equal(&scratch, 4, held_back, "nested");
    assert!(reports.by_others.into_inner() > 0, "rank 0 did everything");
}

#[test]
fn a_deep_tree_is_copied_equal() {
    let scratch = Scratch::with("deep:depth=300,name=40,seed=3");
    copies_equal(&scratch, 3, Reports::default(), "deep");
}

#[test]
fn names_of_one_file_stay_names_of_one_file_across_ranks() {
    let scratch = Scratch::new();
    for directory in 0..20 {
        fs::create_dir_all(scratch.a().join(format!("d{directory}"))).unwrap();
    }
    for file in 0..40 {
        let first = scratch.a().join(format!("d{}/first{file}", file % 20));
        fs::write(&first, format!("bytes of {file}")).unwrap();
        for other in 0..6 {
            let name = format!("d{}/name{file}-{other}", (file + other * 7) % 20);
            fs::hard_link(&first, scratch.a().join(name)).unwrap();
        }
    }
    for ranks in [2, 5] {
        let reports = copies_equal(&scratch, ranks, Reports::default(), "hard links");
        assert!(reports.by_others.into_inner() > 0, "inodes belong to all ranks");
        remove_tree(&scratch.b()).unwrap();
    }
}

#[test]
fn copying_again_changes_nothing() {
    let scratch = Scratch::with("nested:files=600,dirs=60,size=300,seed=4");
    copies_equal(&scratch, 3, Reports::default(), "first");
    let request = request(&scratch, archive());
    // The target exists now, so the source is copied into it, unless it is taken as the name.
    let again = request.form(haul_engine::request::TargetForm::Name);
    let reports = Reports::default();
    copy(&again, 3, &reports, &AtomicBool::new(false));
    assert_eq!(*reports.failures.lock().unwrap(), []);
    scratch.assert_equal("second");
}

#[test]
fn files_that_appear_whole_are_copied_equal() {
    let scratch = Scratch::with("mixed:files=400,seed=5");
    let policy = archive().appearance(Appearance::Whole);
    let reports = Reports::default();
    copy(&request(&scratch, policy), 3, &reports, &AtomicBool::new(false));
    assert_eq!(*reports.failures.lock().unwrap(), []);
    scratch.assert_equal("--atomic");
}

/// Files of a unit wait for a common flush, and the rank that sent the unit waits for the files.
#[test]
fn files_that_wait_for_a_common_flush_are_copied_equal() {
    let sha256 = Algorithm::find("sha256").unwrap();
    let hashing = Hashing { algorithm: sha256, verify: Verify::Compare, whole: WholeDigest::No };
    for (appearance, hashing) in [
        (Appearance::Durable, None),
        (Appearance::Whole, Some(hashing)),
        (Appearance::Durable, Some(hashing)),
    ] {
        let scratch = Scratch::with("nested:files=1500,dirs=100,size=100,seed=9");
        for link in 0..20 {
            let name = |of: &str| scratch.a().join(format!("{of}{link}"));
            fs::write(name("first"), "two names").unwrap();
            fs::hard_link(name("first"), name("second")).unwrap();
        }
        let policy = archive().appearance(appearance).hashing(hashing);
        let reports = Reports { holds_back: true, ..Reports::default() };
        let returned = copy(&request(&scratch, policy), 3, &reports, &AtomicBool::new(false));
        assert_eq!(*reports.failures.lock().unwrap(), []);
        assert_eq!(returned[0].map(|counts| (counts.files, counts.hard_links)), Ok((1520, 20)));
        assert!(reports.by_others.into_inner() > 0, "rank 0 did everything");
        scratch.assert_equal(&format!("{appearance:?}, {hashing:?}"));
    }
}

#[test]
fn each_failure_is_reported_once_and_counted_on_rank_0() {
    let scratch = Scratch::with("nested:files=2000,dirs=200,size=10,seed=6");
    let mut blocked = HashMap::new();
    for directory in fs::read_dir(scratch.a()).unwrap().take(50) {
        let source = directory.unwrap().path();
        let Some(file) = fs::read_dir(&source).unwrap().next() else { continue };
        let file = file.unwrap().path();
        let target = scratch.b().join(file.strip_prefix(scratch.a()).unwrap());
        fs::create_dir_all(&target).unwrap();
        blocked.insert(file.as_os_str().as_bytes().to_vec(), 0);
    }
    assert!(blocked.len() >= 40, "{}", blocked.len());
    let request = request(&scratch, archive());
    let request = request.form(haul_engine::request::TargetForm::Name);
    let reports = Reports { holds_back: true, ..Reports::default() };
    let returned = copy(&request, 4, &reports, &AtomicBool::new(false));
    for failure in reports.failures.lock().unwrap().iter() {
        assert_eq!(failure.what, What::OverDirectory, "{failure:?}");
        *blocked.get_mut(&failure.source).unwrap() += 1;
    }
    assert!(blocked.values().all(|times| *times == 1), "{blocked:?}");
    assert_eq!(returned[0].map(|counts| counts.failures), Ok(blocked.len() as u64));
}

#[test]
fn operands_that_cannot_be_copied_end_all_ranks() {
    let scratch = Scratch::new();
    let reports = Reports::default();
    let returned = copy(&request(&scratch, archive()), 3, &reports, &AtomicBool::new(false));
    assert_eq!(reports.failures.lock().unwrap().len(), 1);
    assert_eq!(returned[0].map(|counts| counts.failures), Ok(1));

    let into = haul_engine::request::TargetForm::Directory;
    let request = request(&scratch, archive()).form(into);
    let reports = Reports::default();
    let returned = copy(&request, 3, &reports, &AtomicBool::new(false));
    assert_eq!(reports.failures.lock().unwrap().len(), 1, "only rank 0 looks at the operands");
    assert_eq!(returned[0].map(|counts| counts.failures), Ok(1));
}

#[test]
fn a_stop_on_one_rank_ends_all() {
    let scratch = Scratch::with("nested:files=500,dirs=50,size=10,seed=7");
    let reports = Reports::default();
    let returned = copy(&request(&scratch, archive()), 3, &reports, &AtomicBool::new(true));
    assert_eq!(*reports.failures.lock().unwrap(), []);
    assert_eq!(returned.len(), 3);
}

#[test]
fn what_ranks_cannot_do_together_is_refused_by_all() {
    let scratch = Scratch::with("flat:files=10,size=10,seed=8");
    let backups = Backup { kind: BackupKind::Simple, suffix: b"~".to_vec() };
    let policy = archive().backup(Some(backups));
    let reports = Reports::default();
    let returned = copy(&request(&scratch, policy), 2, &reports, &AtomicBool::new(false));
    assert_eq!(returned, [Err(Unsupported::Backups), Err(Unsupported::Backups)]);
    assert!(!scratch.b().exists());
}

/// Copies onto a target that is there, by three ranks of which the first leaves units to the others.
fn copied_by_three(scratch: &Scratch) -> Reports {
    let plain = Policy::plain(0o022).recursion(Recursion::Yes);
    let form = haul_engine::request::TargetForm::Name;
    let request = request(scratch, plain).form(form);
    let reports = Reports { holds_back: true, ..Reports::default() };
    copy(&request, 3, &reports, &AtomicBool::new(false));
    assert!(reports.by_others.load(std::sync::atomic::Ordering::Relaxed) > 0);
    reports
}

/// Two entries that lead to one file of the target are copied by one rank, which gives each its turn: no file
/// has bytes of two sources.
#[test]
fn one_rank_writes_to_all_names_of_a_file_of_the_target() {
    const PAIRS: usize = 300;
    let scratch = Scratch::new();
    for (directory, byte) in [("d", b'd'), ("e", b'e')] {
        fs::create_dir_all(scratch.a().join(directory)).unwrap();
        fs::create_dir_all(scratch.b().join(directory)).unwrap();
        for file in 0..PAIRS {
            fs::write(scratch.a().join(format!("{directory}/{file}")), vec![byte; 20_000]).unwrap();
        }
    }
    for file in 0..PAIRS {
        let first = scratch.b().join(format!("d/{file}"));
        fs::write(&first, "old").unwrap();
        fs::hard_link(&first, scratch.b().join(format!("e/{file}"))).unwrap();
    }
    let reports = copied_by_three(&scratch);
    let mut rank_of: HashMap<Vec<u8>, usize> = HashMap::new();
    for (rank, target) in reports.copied_by.into_inner().unwrap() {
        let name = target.rsplit(|byte| *byte == b'/').next().unwrap().to_vec();
        let first = *rank_of.entry(name).or_insert(rank);
        assert_eq!(first, rank, "{}", String::from_utf8_lossy(&target));
    }
    for file in 0..PAIRS {
        for directory in ["d", "e"] {
            let bytes = fs::read(scratch.b().join(format!("{directory}/{file}"))).unwrap();
            let is_one = bytes.iter().all(|byte| *byte == bytes[0]);
            assert!(bytes.len() == 20_000 && is_one, "{directory}/{file} has bytes of both");
        }
    }
}

/// In a target that ignores case, two names of the source were one file: whichever rank came last replaced the bytes
/// of the other, and nothing was reported.
#[test]
fn names_that_differ_only_in_case_do_not_replace_each_other() {
    const PAIRS: usize = 200;
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.a().join("d")).unwrap();
    for file in 0..PAIRS {
        for letter in ["f", "F"] {
            fs::write(scratch.a().join(format!("d/{letter}{file}")), letter.repeat(5000)).unwrap();
        }
    }
    let below = scratch.0.path().join("below");
    fs::create_dir_all(below.join("d")).unwrap();
    fs::create_dir(scratch.b()).unwrap();
    let config = Config { case: Case::Ignored, ..Config::default() };
    let Ok(mounted) = Mounted::new(&below, &scratch.b(), &config) else {
        println!(
            "ignored: names_that_differ_only_in_case_do_not_replace_each_other needs /dev/fuse"
        );
        return;
    };
    let reports = copied_by_three(&scratch);
    let failures: Vec<What> = reports.errors().iter().map(|failure| failure.what).collect();
    assert_eq!(failures, vec![What::CreateFile; PAIRS]);
    for entry in fs::read_dir(below.join("d")).unwrap() {
        let entry = entry.unwrap();
        let letter = entry.file_name().into_string().unwrap()[..1].to_owned();
        assert_eq!(fs::read_to_string(entry.path()).unwrap(), letter.repeat(5000), "{entry:?}");
    }
    drop(mounted);
}

#[test]
fn ranks_write_through_no_symbolic_link() {
    let scratch = Scratch::new();
    for name in ["d/a", "d/b"] {
        fs::create_dir_all(scratch.a().join("d")).unwrap();
        fs::write(scratch.a().join(name), name).unwrap();
    }
    fs::create_dir_all(scratch.b().join("d")).unwrap();
    fs::write(scratch.b().join("d/b"), "old").unwrap();
    let link = scratch.b().join("d/a");
    std::os::unix::fs::symlink("b", &link).unwrap();
    let plain = Policy::plain(0o022).recursion(Recursion::Yes);
    let form = haul_engine::request::TargetForm::Name;
    for appearance in [Appearance::Gradual, Appearance::Whole] {
        let policy = plain.clone().appearance(appearance);
        let request = request(&scratch, policy).form(form);
        let reports = Reports::default();
        copy(&request, 2, &reports, &AtomicBool::new(false));
        let failures: Vec<What> = reports.errors().iter().map(|failure| failure.what).collect();
        assert_eq!(failures, [What::LinkAmongProcesses], "{appearance:?}");
        assert_eq!(fs::read_to_string(scratch.b().join("d/b")).unwrap(), "d/b");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("b"));
    }
}
