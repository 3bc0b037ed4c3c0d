//! Several runs in one process, and what they leave unchanged in it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use haul_engine::error::Failure;
use haul_engine::monitor::{Control, Detail, Monitor, Outcome, Report};
use haul_engine::remove;
use haul_engine::request::{Policy, Recursion, Request, Resources};

#[derive(Default)]
struct Failures(Mutex<Vec<Failure>>);

impl Monitor for Failures {
    fn report(&self, report: Report<'_>) {
        if let Report::Failed(failure) = report {
            self.0.lock().unwrap().push(failure.clone());
        }
    }
}

fn tree(top: &Path, files: usize) {
    for number in 0..files {
        let directory = top.join(format!("{}", number % 7));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(number.to_string()), number.to_string()).unwrap();
    }
}

/// The signals with a handler, those that are ignored, the umask and the current directory.
fn state_of_process() -> (String, std::path::PathBuf) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kept = ["SigCgt:", "SigIgn:", "Umask:"];
    let is_kept = |line: &&str| kept.iter().any(|field| line.starts_with(field));
    (status.lines().filter(is_kept).collect(), std::env::current_dir().unwrap())
}

#[test]
fn copies_at_the_same_time_do_not_disturb_each_other() {
    const RUNS: usize = 4;
    const FILES: usize = 300;
    let scratch = tempfile::tempdir().unwrap();
    let before = state_of_process();
    let barrier = Barrier::new(RUNS);
    std::thread::scope(|scope| {
        for run in 0..RUNS {
            let (scratch, barrier) = (scratch.path(), &barrier);
            scope.spawn(move || {
                let (source, target) =
                    (scratch.join(format!("a{run}")), scratch.join(format!("b{run}")));
                tree(&source, FILES);
                let request = Request::new([&source], &target, Policy::archive())
                    .unwrap()
                    .resources(Resources::available().descriptors(64));
                let (stop, failures) = (AtomicBool::new(false), Failures::default());
                barrier.wait();
                let counts = haul_engine::copy(&request, &failures, &Control::new(&stop));
                assert_eq!(*failures.0.lock().unwrap(), []);
                assert_eq!(counts.files, FILES as u64);
                for number in 0..FILES {
                    let path = target.join(format!("{}/{number}", number % 7));
                    assert_eq!(fs::read_to_string(path).unwrap(), number.to_string());
                }
                let policy = remove::Policy::new().recursion(Recursion::Yes);
                let request = remove::Request::new([&target], policy).unwrap();
                let counts = remove::remove(&request, &failures, &Control::new(&stop));
                assert_eq!((counts.failures, target.exists()), (0, false));
            });
        }
    });
    assert_eq!(state_of_process(), before);
}

/// Lets another thread stop the run when its first entry is reported.
struct StoppedAtFirst<'a> {
    is_first: AtomicBool,
    reached: &'a Barrier,
    stopped: &'a Barrier,
}

impl Monitor for StoppedAtFirst<'_> {
    fn report(&self, report: Report<'_>) {
        assert!(matches!(report, Report::Entry(_)), "{report:?}");
        if self.is_first.swap(false, Ordering::Relaxed) {
            self.reached.wait();
            self.stopped.wait();
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries
    }
}

#[test]
fn another_thread_ends_one_run_and_no_other() {
    let scratch = tempfile::tempdir().unwrap();
    let (a, b, c) = (scratch.path().join("a"), scratch.path().join("b"), scratch.path().join("c"));
    tree(&a, 600);
    let (stop, never) = (AtomicBool::new(false), AtomicBool::new(false));
    let (reached, stopped) = (&Barrier::new(2), &Barrier::new(2));
    std::thread::scope(|scope| {
        let short = scope.spawn(|| {
            let resources = Resources::available().jobs(1).waiting_jobs(1);
            let request = Request::new([&a], &b, Policy::archive()).unwrap().resources(resources);
            let monitor = StoppedAtFirst { is_first: AtomicBool::new(true), reached, stopped };
            haul_engine::copy(&request, &monitor, &Control::new(&stop)).files
        });
        let complete = scope.spawn(|| {
            let request = Request::new([&a], &c, Policy::archive()).unwrap();
            haul_engine::copy(&request, &Failures::default(), &Control::new(&never)).files
        });
        reached.wait();
        stop.store(true, Ordering::Relaxed);
        stopped.wait();
        assert!(short.join().unwrap() < 600);
        assert_eq!(complete.join().unwrap(), 600);
    });
}

/// Does in the target what another copy would do, when a directory has been made there.
struct Meddling<'a> {
    after: &'a Path,
    act: &'a (dyn Fn() + Sync),
    failures: Failures,
}

impl Monitor for Meddling<'_> {
    fn report(&self, report: Report<'_>) {
        self.failures.report(report);
        if let Report::Entry(event) = report
            && event.target == self.after.as_os_str().as_encoded_bytes()
            && event.outcome == Outcome::Begun
        {
            (self.act)();
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries
    }
}

#[test]
fn copies_into_one_tree_share_directories_and_no_files() {
    let scratch = tempfile::tempdir().unwrap();
    let (a, b) = (scratch.path().join("a"), scratch.path().join("b"));
    fs::create_dir_all(a.join("share/man")).unwrap();
    fs::write(a.join("share/man/ours"), "ours").unwrap();
    fs::write(a.join("share/both"), "ours").unwrap();
    let act = || {
        fs::create_dir(b.join("share/man")).unwrap();
        fs::write(b.join("share/man/theirs"), "theirs").unwrap();
        fs::write(b.join("share/both"), "theirs").unwrap();
    };
    let request = Request::new([&a], &b, Policy::archive()).unwrap();
    let stop = AtomicBool::new(false);
    let monitor = Meddling { after: &b.join("share"), act: &act, failures: Failures::default() };
    let counts = haul_engine::copy(&request, &monitor, &Control::new(&stop));
    let read = |name: &str| fs::read_to_string(b.join("share").join(name)).unwrap();
    let files = ["man/ours", "man/theirs", "both"].map(read);
    assert_eq!(files, ["ours", "theirs", "theirs"]);
    let failures = monitor.failures.0.into_inner().unwrap();
    assert_eq!((counts.failures, failures.len()), (1, 1), "{failures:?}");
    assert!(failures[0].target.ends_with(b"share/both"), "{failures:?}");
}

fn panic(_: Report<'_>) {
    panic!("a bug of the caller");
}

#[test]
fn a_panic_of_the_monitor_reaches_the_caller() {
    let scratch = tempfile::tempdir().unwrap();
    let request = Request::new([scratch.path().join("none")], scratch.path(), Policy::new());
    let run = || {
        let stop = AtomicBool::new(false);
        haul_engine::copy(request.as_ref().unwrap(), &panic, &Control::new(&stop))
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
}

#[test]
fn a_path_with_a_nul_byte_is_refused() {
    let refused = Request::new(["a\0b"], "c", Policy::new()).unwrap_err();
    assert_eq!(refused.nul_position(), 1);
    let error = std::io::Error::from(refused);
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}
