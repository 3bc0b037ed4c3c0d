//! Removals by ranks that are threads of one process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_engine::error::What;
use haul_engine::monitor::Counts;
use haul_engine::peers::Unsupported;
use haul_engine::remove::{Approval, Ask, Missing, Mode, Policy, Request};
use haul_engine::request::{Borders, Recursion, Resources};
use haul_manifest::{create_tree, random_tree};

use crate::ranks::{Reports, Scratch, carry_out, is_root, limits};

fn policy() -> Policy {
    Policy::new().recursion(Recursion::Yes)
}

fn request(paths: &[PathBuf], policy: Policy) -> Request {
    let resources = Resources::available().jobs(2).waiting_jobs(2);
    Request::new(paths, policy).unwrap().resources(resources)
}

fn remove(request: &Request, ranks: usize, reports: &Reports) -> Vec<Result<Counts, Unsupported>> {
    carry_out(request, ranks, reports, &AtomicBool::new(false), haul_mpi::remove)
}

/// Returns how often each path was reported.
fn failed(reports: &Reports) -> BTreeMap<PathBuf, usize> {
    let mut failed = BTreeMap::new();
    for failure in reports.failures.lock().unwrap().iter() {
        *failed.entry(PathBuf::from(OsString::from_vec(failure.source.clone()))).or_default() += 1;
    }
    failed
}

/// Returns the number of entries of a tree, itself included.
pub(crate) fn entries(root: &Path) -> u64 {
    let below = fs::read_dir(root).unwrap().map(|entry| {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() { entries(&entry.path()) } else { 1 }
    });
    1 + below.sum::<u64>()
}

/// Removes `a`, asserts that nothing failed and that nothing is left, and returns the reports.
fn removes_all(scratch: &Scratch, ranks: usize, reports: Reports, story: &str) -> Reports {
    let count = entries(&scratch.a());
    let returned = remove(&request(&[scratch.a()], policy()), ranks, &reports);
    assert_eq!(*reports.failures.lock().unwrap(), [], "{story}");
    assert!(scratch.a().symlink_metadata().is_err(), "{story}: something is left");
    let counts = returned[0].unwrap();
    assert_eq!((counts.failures, counts.entries()), (0, count), "{story}");
    reports
}

#[test]
fn random_trees_are_removed_by_one_to_eight_ranks() {
    for (seed, ranks) in (1..).zip([1, 2, 3, 4, 8, 2, 3, 4]) {
        let scratch = Scratch::new();
        create_tree(&scratch.a(), random_tree(seed, &limits())).unwrap();
        removes_all(&scratch, ranks, Reports::default(), &format!("seed {seed}, {ranks} ranks"));
    }
}

#[test]
fn a_flat_directory_is_shared_and_removed() {
    let scratch = Scratch::with("flat:files=4000,size=10,seed=1");
    let held_back = Reports { holds_back: true, ..Reports::default() };
    let reports = removes_all(&scratch, 3, held_back, "flat");
    assert!(reports.by_others.into_inner() > 0, "rank 0 did everything");
}

#[test]
fn many_directories_are_shared_and_removed() {
    let scratch = Scratch::with("nested:files=4000,dirs=400,size=10,seed=2");
    let held_back = Reports { holds_back: true, ..Reports::default() };
    let reports = removes_all(&scratch, 4, held_back, "nested");
    assert!(reports.by_others.into_inner() > 0, "rank 0 did everything");
}

#[test]
fn a_deep_tree_is_removed() {
    let scratch = Scratch::with("deep:depth=300,name=40,seed=3");
    // Its paths are longer than a path may be, so it is not counted.
    let reports = Reports::default();
    let returned = remove(&request(&[scratch.a()], policy()), 3, &reports);
    assert_eq!(*reports.failures.lock().unwrap(), []);
    assert!(returned[0].unwrap().directories >= 300);
    assert!(scratch.a().symlink_metadata().is_err());
}

#[test]
fn operands_are_removed_in_their_order_if_they_are_told() {
    for ranks in [1, 3] {
        let scratch = Scratch::with("nested:files=600,dirs=60,size=10,seed=4");
        let roots: Vec<PathBuf> =
            fs::read_dir(scratch.a()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(roots.len() > 5, "{roots:?}");
        let reports = Reports { holds_back: ranks > 1, ..Reports::default() };
        let returned = remove(&request(&roots, policy()), ranks, &reports);
        assert_eq!(*reports.failures.lock().unwrap(), []);
        assert_eq!(returned[0].unwrap().failures, 0);
        assert_eq!(fs::read_dir(scratch.a()).unwrap().count(), 0, "{ranks} ranks");
    }
}

#[test]
fn no_link_is_followed_by_any_rank() {
    let scratch = Scratch::with("nested:files=1000,dirs=100,size=10,seed=5");
    let precious = scratch.b();
    fs::create_dir_all(precious.join("below")).unwrap();
    fs::write(precious.join("below/file"), "stays").unwrap();
    for (number, entry) in fs::read_dir(scratch.a()).unwrap().enumerate() {
        let directory = entry.unwrap().path();
        symlink(&precious, directory.join(format!("absolute{number}"))).unwrap();
        symlink("../../b/below", directory.join(format!("relative{number}"))).unwrap();
    }
    let held_back = Reports { holds_back: true, ..Reports::default() };
    removes_all(&scratch, 4, held_back, "links");
    assert_eq!(fs::read_to_string(precious.join("below/file")).unwrap(), "stays");
    assert_eq!(entries(&precious), 3);
}

/// A directory from which nothing can be removed, until this is dropped.
pub(crate) struct Protected(PathBuf);

impl Protected {
    pub(crate) fn new(directory: PathBuf) -> Protected {
        Protected::set(&directory, "+i", 0o555);
        Protected(directory)
    }

    /// Root overrides permission bits, but not the immutable flag; others may not set that one.
    fn set(directory: &Path, flag: &str, mode: u32) {
        if is_root() {
            let status = Command::new("chattr").arg(flag).arg(directory).status().unwrap();
            assert!(status.success(), "the file system has no immutable directories");
        } else {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        Protected::set(&self.0, "-i", 0o755);
    }
}

#[test]
fn what_cannot_be_removed_is_reported_once_and_keeps_the_directories_above_it() {
    for ranks in [1, 2, 4] {
        let scratch = Scratch::with("nested:files=2000,dirs=200,size=10,seed=6");
        let mut expected = BTreeMap::new();
        let mut directories = Vec::new();
        for entry in fs::read_dir(scratch.a()).unwrap().step_by(3) {
            let directory = entry.unwrap().path().join("kept/below");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("file"), "stays").unwrap();
            expected.insert(directory.join("file"), 1);
            directories.push(Protected::new(directory));
        }
        assert!(directories.len() > 10, "{}", directories.len());
        let reports = Reports { holds_back: ranks > 1, ..Reports::default() };
        let returned = remove(&request(&[scratch.a()], policy()), ranks, &reports);
        // The directories above stay without a report, wherever they were handled.
        assert_eq!(failed(&reports), expected, "{ranks} ranks");
        assert_eq!(returned[0].unwrap().failures, expected.len() as u64, "{ranks} ranks");
        for failure in reports.failures.lock().unwrap().iter() {
            assert_eq!(failure.what, What::Remove);
        }
        // Each directory, the two above it, and its file; and the root.
        assert_eq!(entries(&scratch.a()), 4 * expected.len() as u64 + 1, "{ranks} ranks");
        let by_others = reports.printed.into_inner().unwrap().len();
        assert!(ranks == 1 || by_others > 0, "rank 0 met all failures");
    }
}

#[test]
fn operands_that_do_not_exist_are_failures_unless_that_is_ignored() {
    let scratch = Scratch::new();
    for (missing, failures) in [(Missing::Fail, 1), (Missing::Ignore, 0)] {
        let reports = Reports::default();
        let request = request(&[scratch.a()], policy().missing(missing));
        let returned = remove(&request, 3, &reports);
        assert_eq!(returned[0].unwrap().failures, failures);
        assert_eq!(reports.failures.lock().unwrap().len() as u64, failures);
    }
}

#[test]
fn guards_hold_on_rank_0() {
    let scratch = Scratch::with("flat:files=10,size=10,seed=7");
    let reports = Reports::default();
    let operands = [PathBuf::from("/"), scratch.a().join("..")];
    let returned = remove(&request(&operands, policy()), 2, &reports);
    let what: BTreeSet<String> =
        reports.failures.lock().unwrap().iter().map(|it| format!("{:?}", it.what)).collect();
    assert_eq!(what, BTreeSet::from(["Dots".to_owned(), "Root".to_owned()]));
    assert_eq!(returned[0].unwrap().failures, 2);
    assert_eq!(entries(&scratch.a()), 11);
}

#[test]
fn a_rehearsal_removes_nothing_and_reports_everything() {
    let scratch = Scratch::with("nested:files=1000,dirs=100,size=10,seed=8");
    let count = entries(&scratch.a());
    let reports = Reports { holds_back: true, ..Reports::default() };
    let pretend = policy().mode(Mode::Pretend).borders(Borders::Stay);
    let returned = remove(&request(&[scratch.a()], pretend), 3, &reports);
    assert_eq!(returned[0].unwrap().entries(), count);
    assert_eq!(entries(&scratch.a()), count);
    assert!(reports.by_others.load(Ordering::Relaxed) > 0, "rank 0 did everything");
}

/// The other ranks may have removed everything before the one that was stopped says so: then the job is
/// complete, and no failure.
#[test]
fn a_stop_on_one_rank_ends_all_and_is_a_failure() {
    for _ in 0..50 {
        let scratch = Scratch::with("nested:files=500,dirs=50,size=10,seed=9");
        let (reports, stop) = (Reports::default(), AtomicBool::new(true));
        let request = request(&[scratch.a()], policy());
        let returned = carry_out(&request, 3, &reports, &stop, haul_mpi::remove);
        assert_eq!(*reports.failures.lock().unwrap(), []);
        if returned[0].unwrap().failures == 0 {
            assert!(!scratch.a().exists(), "it is not complete, and says that it is");
            continue;
        }
        let printed = reports.printed.into_inner().unwrap();
        assert_eq!(printed.len(), 1);
        let text = String::from_utf8_lossy(&printed[0].1);
        assert!(text.starts_with("haul-mpi: another rank was stopped"), "{text}");
        return;
    }
    panic!("the rank that was stopped was always too late");
}

#[test]
fn what_ranks_cannot_do_together_is_refused_by_all() {
    let scratch = Scratch::with("flat:files=10,size=10,seed=10");
    for (policy, what) in [
        (policy().ask(Ask::Always), Unsupported::Questions),
        (policy().approval(Approval::Each), Unsupported::Approval),
    ] {
        let returned = remove(&request(&[scratch.a()], policy), 2, &Reports::default());
        assert_eq!(returned, [Err(what), Err(what)]);
    }
    assert_eq!(entries(&scratch.a()), 11);
}
