//! Resumed copies by ranks that are threads of one process: nothing is copied twice, nothing is left,
//! whatever the numbers of ranks were.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use haul_engine::error::{JournalFlaw, What};
use haul_engine::monitor::Control;
use haul_engine::peers::{Exchange, Peers};
use haul_engine::request::{Appearance, Hashing, Request, Resume, TargetForm, Verify, WholeDigest};
use haul_io::digest::Algorithm;
use haul_manifest::wait_until;
use rustix::time::{ClockId, clock_gettime};

use crate::copy::{archive, copy, request as plain};
use crate::ranks::{Reports, Scratch};
use crate::volumes::{FINISHED, PIECES, count, cut_after_first};

/// Returns the request of `cp -aT --resume a b`.
fn request(scratch: &Scratch) -> Request {
    let policy = archive().appearance(Appearance::Durable);
    let resume = Some(Resume { journal: None, here: Vec::new() });
    plain(scratch, policy).form(TargetForm::Name).resume(resume)
}

/// Returns the hidden files beside the target: the journal and its volumes.
fn volumes(scratch: &Scratch) -> Vec<PathBuf> {
    crate::volumes::volumes(scratch.0.path())
}

/// Returns the journals beside the target that end with the mark of a complete run.
fn marked(scratch: &Scratch) -> Vec<PathBuf> {
    crate::volumes::marked(scratch.0.path())
}

/// Number of bytes of the record that marks a complete run, with its frame.
const MARK_BYTES: u64 = 20 + 34;

/// Makes every volume but the journal itself shorter, as if its rank had been killed earlier, and the
/// journal as if the run had been killed before it was marked.
fn tear(scratch: &Scratch, percent: u64) {
    let journal = &marked(scratch)[0];
    for path in volumes(scratch) {
        let file = fs::File::options().write(true).open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        let is_journal = path == *journal;
        let kept = if is_journal { bytes - MARK_BYTES } else { bytes * percent / 100 };
        file.set_len(kept).unwrap();
    }
}

/// State of each file: its inode number, by path. A file that is copied again gets another one.
fn inodes(root: &Path) -> HashMap<PathBuf, u64> {
    let mut found = HashMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let stat = path.symlink_metadata().unwrap();
            if stat.is_dir() {
                directories.push(path);
            } else {
                found.insert(path, stat.ino());
            }
        }
    }
    found
}

/// Waits until files that were just made are older than a run that begins now: a run does not trust a state that
/// is younger than one tick of the kernel's clock.
pub(crate) fn become_old() {
    let made = clock_gettime(ClockId::Realtime);
    wait_until("the clock has ticked", || clock_gettime(ClockId::RealtimeCoarse) > made);
}

const TREE: &str = "nested:files=900,dirs=60,size=100,seed=21";

/// Copies with this many ranks, asserts success, and returns what was reported.
fn succeeds(scratch: &Scratch, ranks: usize, story: &str) -> (u64, u64, usize, Option<u64>) {
    let reports = Reports { holds_back: true, ..Reports::default() };
    let returned = copy(&request(scratch), ranks, &reports, &AtomicBool::new(false));
    assert_eq!(*reports.failures.lock().unwrap(), [], "{story}");
    let counts = returned[0].unwrap();
    assert_eq!(counts.failures, 0, "{story}");
    scratch.assert_equal(story);
    assert_eq!(marked(scratch).len(), 1, "{story}");
    let all_there = *reports.all_there.lock().unwrap();
    (counts.files, counts.skipped, reports.by_others.into_inner(), all_there)
}

#[test]
fn a_complete_copy_is_recognised_by_any_number_of_ranks() {
    let scratch = Scratch::with(TREE);
    for link in 0..30 {
        fs::hard_link(scratch.a().join("l"), scratch.a().join(format!("l{link}")))
            .or_else(|_| fs::write(scratch.a().join("l"), "names"))
            .unwrap();
    }
    become_old();
    let (files, skipped, by_others, all_there) = succeeds(&scratch, 3, "first");
    assert_eq!((files, skipped, all_there), (901, 0, None));
    assert!(by_others > 0, "rank 0 did everything");
    let before = inodes(&scratch.b());
    for ranks in [3, 5, 1, 2] {
        let (files, skipped, _, all_there) = succeeds(&scratch, ranks, "again");
        assert_eq!((files, skipped, all_there), (0, 930, Some(930)), "{ranks} ranks");
        assert!(before == inodes(&scratch.b()), "{ranks} ranks copied something again");
    }
}

#[test]
fn what_one_machine_recorded_serves_several_and_the_other_way_round() {
    let scratch = Scratch::with(TREE);
    become_old();
    let alone = || {
        let reports = Reports::default();
        let counts = reports.copy_alone(&request(&scratch));
        assert_eq!(*reports.failures.lock().unwrap(), []);
        (counts.files, counts.skipped)
    };
    assert_eq!(alone(), (900, 0));
    assert_eq!(volumes(&scratch).len(), 1);
    let (files, skipped, _, all_there) = succeeds(&scratch, 3, "three after one");
    assert_eq!((files, skipped, all_there), (0, 900, Some(900)));
    fs::remove_dir_all(scratch.b()).unwrap();
    for path in volumes(&scratch) {
        fs::remove_file(path).unwrap();
    }
    let (files, ..) = succeeds(&scratch, 3, "three");
    assert_eq!(files, 900);
    assert!(volumes(&scratch).len() > 1, "rank 0 wrote all records");
    assert_eq!(alone(), (0, 900));
}

#[test]
fn a_copy_that_was_killed_is_completed_and_nothing_is_copied_twice() {
    for (ranks, again, percent) in [(3, 3, 50), (4, 2, 70), (2, 5, 20), (3, 1, 0)] {
        let story = format!("{ranks} ranks, then {again}, {percent} % of the records");
        let scratch = Scratch::with(TREE);
        become_old();
        succeeds(&scratch, ranks, "first");
        tear(&scratch, percent);
        let before = inodes(&scratch.b());
        let lost: Vec<PathBuf> = before.keys().take(40).cloned().collect();
        for path in &lost {
            fs::remove_file(path).unwrap();
        }
        let (files, skipped, ..) = succeeds(&scratch, again, &story);
        assert_eq!(files + skipped, 900, "{story}");
        assert!(files >= 40, "{story}: {files} copied");
        let after = inodes(&scratch.b());
        let changed = after.iter().filter(|(path, ino)| before.get(*path) != Some(ino)).count();
        assert!(changed as u64 <= files, "{story}: {changed} changed, {files} copied");
        // What the journal had is not copied again: all of it is at least what rank 0 recorded.
        assert!(skipped > 0, "{story}");
        let (files, skipped, ..) = succeeds(&scratch, again, "at the end");
        assert_eq!((files, skipped), (0, 900), "{story}");
    }
}

#[test]
fn a_stopped_copy_goes_on_and_its_directories_get_their_attributes() {
    let scratch = Scratch::with(TREE);
    become_old();
    let mut done = 0;
    let mut runs = 0;
    // Each run is stopped when other ranks have copied some files. What waits for a flush then is
    // committed, so each run completes something.
    loop {
        let stop = AtomicBool::new(false);
        let reports = Reports { stops_after: 60, holds_back: true, ..Reports::default() };
        let returned = copy(&request(&scratch), 3, &reports, &stop);
        assert_eq!(reports.errors(), [], "run {runs}");
        let counts = returned[0].unwrap();
        runs += 1;
        if !stop.load(Ordering::Relaxed) {
            assert_eq!(counts.files + counts.skipped, 900);
            assert!(counts.skipped >= done, "{} of {done}", counts.skipped);
            break;
        }
        assert!(counts.files > 0, "run {runs}");
        done = counts.files + counts.skipped;
        assert!(runs < 100, "no progress");
    }
    scratch.assert_equal("at the end");
    let (files, skipped, ..) = succeeds(&scratch, 3, "complete");
    assert_eq!((files, skipped), (0, 900));
}

#[test]
fn the_locks_on_volumes_leave_enough_descriptors_or_the_run_is_refused() {
    let scratch = Scratch::with(TREE);
    become_old();
    succeeds(&scratch, 6, "first");
    let locks = volumes(&scratch).len() as u64 - 1;
    assert!(locks > 0, "rank 0 wrote all records");
    for (descriptors, is_enough) in [(locks + 19, false), (locks + 20, true)] {
        let mut few = request(&scratch);
        few.resources.descriptors = descriptors;
        let reports = Reports::default();
        let counts = reports.copy_alone(&few);
        let refused: Vec<What> = reports.errors().iter().map(|failure| failure.what).collect();
        if is_enough {
            assert_eq!((refused, counts.skipped), (vec![], 900));
        } else {
            assert_eq!(refused, [What::JournalRefused(JournalFlaw::TooManyVolumes)]);
            assert_eq!(counts.skipped, 0);
        }
    }
}

/// Stops a run of one rank with one worker when all bytes have been copied and the files wait for their flush.
struct StopsAtTheEnd<'a> {
    control: &'a Control<'a>,
    bytes: u64,
}

impl Peers for StopsAtTheEnd<'_> {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        wait_until("everything is copied", || {
            self.control.counts().bytes >= self.bytes && exchange.idle_workers() > 0
        });
        assert_eq!(self.control.counts().files, 0, "no file waits");
        exchange.stop();
    }
}

#[test]
fn a_stopped_run_verifies_and_records_what_waits() {
    let scratch = Scratch::with("flat:files=20,size=3000,seed=22");
    become_old();
    let algorithm = Algorithm::find("sha256").unwrap();
    let hashing = Hashing { algorithm, verify: Verify::Compare, whole: WholeDigest::No };
    let mut resumed = request(&scratch);
    resumed.policy.hashing = Some(hashing);
    (resumed.resources.jobs, resumed.resources.waiting_jobs) = (1, 1);
    let stop = AtomicBool::new(false);
    let control = Control::new(&stop);
    let mut peers = StopsAtTheEnd { control: &control, bytes: 20 * 3000 };
    let counts = Reports::default().copy_with(&resumed, &mut peers, &control);
    assert_eq!((counts.failures, counts.files), (0, 20));
    assert_eq!(count(scratch.0.path(), FINISHED), 20);
    let reports = Reports::default();
    let counts = copy(&resumed, 1, &reports, &AtomicBool::new(false))[0].unwrap();
    assert_eq!((counts.failures, counts.skipped), (0, 20));
    scratch.assert_equal("resumed");
}

#[test]
fn two_runs_at_once_are_refused_and_the_first_one_is_not_disturbed() {
    let scratch = Scratch::with(TREE);
    become_old();
    succeeds(&scratch, 3, "first");
    let before = inodes(&scratch.b());
    // Also a rank of the earlier run that still ends holds its volume.
    for path in volumes(&scratch) {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.try_lock().unwrap();
        for ranks in [1, 3] {
            let reports = Reports::default();
            let returned = copy(&request(&scratch), ranks, &reports, &AtomicBool::new(false));
            let failures = reports.failures.lock().unwrap();
            let refused = What::JournalRefused(JournalFlaw::InUse);
            assert!(failures.iter().any(|failure| failure.what == refused), "{failures:?}");
            assert!(returned[0].unwrap().failures > 0);
            assert_eq!(returned[0].unwrap().files, 0);
        }
    }
    assert!(before == inodes(&scratch.b()));
    let (files, skipped, ..) = succeeds(&scratch, 3, "after the other one");
    assert_eq!((files, skipped), (0, 900));
}

#[test]
fn a_refused_run_leaves_the_records_of_the_run_that_it_should_resume() {
    let scratch = Scratch::with(TREE);
    become_old();
    succeeds(&scratch, 2, "first");
    // Rank 0 had recorded only how many volumes there are.
    let journal = marked(&scratch).remove(0);
    cut_after_first(&journal);
    let before: Vec<_> = volumes(&scratch).iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(before.len(), 2);
    let volume = volumes(&scratch).into_iter().find(|path| *path != journal).unwrap();
    // The rank of the earlier run that wrote it has not ended yet.
    let file = fs::File::options().write(true).open(&volume).unwrap();
    file.try_lock().unwrap();
    let reports = Reports::default();
    let returned = copy(&request(&scratch), 2, &reports, &AtomicBool::new(false));
    let failures = reports.errors();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0].what, What::JournalRefused(JournalFlaw::InUse));
    assert!(returned[0].unwrap().failures > 0);
    assert_eq!(volumes(&scratch).len(), 2);
    assert_eq!(fs::read(&volume).unwrap(), before[usize::from(volumes(&scratch)[1] == volume)]);
    drop(file);
    let (files, skipped, ..) = succeeds(&scratch, 2, "after the other one");
    assert_eq!(files + skipped, 900);
    assert!(skipped > 0, "the records of rank 1 are lost");
}

#[test]
fn a_large_file_is_continued_where_it_ended() {
    const MIB: u64 = 1 << 20;
    let scratch = Scratch::new();
    fs::create_dir(scratch.a()).unwrap();
    // Resumable files have at least 128 MiB, and are recorded every 64 MiB.
    let large = scratch.a().join("large");
    let block: Vec<u8> = (0_u32..1 << 18).flat_map(u32::to_le_bytes).collect();
    fs::write(&large, block.repeat(160)).unwrap();
    become_old();
    let mut slow = request(&scratch);
    slow.policy.bytes_per_second = Some(40 * MIB);
    let stop = AtomicBool::new(false);
    let reports = Reports::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("a piece is recorded", || count(scratch.0.path(), PIECES) > 0);
            stop.store(true, Ordering::Relaxed);
        });
        copy(&slow, 3, &reports, &stop);
    });
    assert_eq!(reports.errors(), []);
    let begun: Vec<_> = fs::read_dir(scratch.b()).unwrap().map(Result::unwrap).collect();
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert!(begun[0].file_name().as_bytes().starts_with(b".haul-"), "it was not stopped");
    let (ino, bytes) = (begun[0].metadata().unwrap().ino(), begun[0].metadata().unwrap().size());
    assert!(bytes >= 64 * MIB, "{bytes}");
    let reports = Reports::default();
    let counts = copy(&request(&scratch), 2, &reports, &AtomicBool::new(false))[0].unwrap();
    assert_eq!(reports.errors(), []);
    assert_eq!(counts.files, 1);
    assert!(counts.bytes <= 96 * MIB, "{} bytes were copied again", counts.bytes);
    // The rest of the bytes went to the same file.
    assert_eq!(scratch.b().join("large").metadata().unwrap().ino(), ino);
    scratch.assert_equal("continued");
    assert_eq!(fs::read_dir(scratch.b()).unwrap().count(), 1);
}

#[test]
fn a_journal_that_the_user_names_has_its_volumes_beside_it() {
    let scratch = Scratch::with(TREE);
    become_old();
    let path = scratch.0.path().join("journal");
    let journal = Some(CString::new(path.as_os_str().as_bytes()).unwrap());
    let named = request(&scratch).resume(Some(Resume { journal, here: Vec::new() }));
    let reports = Reports { holds_back: true, ..Reports::default() };
    copy(&named, 2, &reports, &AtomicBool::new(false));
    assert_eq!(*reports.failures.lock().unwrap(), []);
    scratch.assert_equal("named journal");
    assert!(path.exists() && scratch.0.path().join("journal.1").exists());
    assert_eq!(volumes(&scratch), Vec::<PathBuf>::new());
    // A file of the user stands where a volume of another rank would be.
    fs::write(scratch.0.path().join("journal.2"), "mine").unwrap();
    let reports = Reports::default();
    let returned = copy(&named, 3, &reports, &AtomicBool::new(false));
    let failures = reports.errors();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].target.ends_with(b"/journal.2"), "{failures:?}");
    assert!(returned[0].unwrap().failures > 0);
    assert_eq!(fs::read(scratch.0.path().join("journal.2")).unwrap(), b"mine");
}
