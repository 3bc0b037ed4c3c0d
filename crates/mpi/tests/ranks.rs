//! Ranks that are threads of one process, and what they report.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use haul::{Part, Stream};
use haul_engine::error::{Failure, Severity};
use haul_engine::monitor::{Control, Counts, Detail, Event, Monitor, Outcome, Report};
use haul_engine::peers::{Peers, Ranks, Unsupported};
use haul_engine::request::Request;
use haul_manifest::{
    Aspects, CompareOptions, Feature, Limits, compare, holds_within, parse_recipe, remove_tree,
};
use haul_mpi::{Link, Relay, links};

/// A private directory with a source `a` and a target `b`.
pub(crate) struct Scratch(pub(crate) tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(crate) fn with(recipe: &str) -> Scratch {
        let scratch = Scratch::new();
        parse_recipe(recipe).unwrap().generate(&scratch.a()).unwrap();
        scratch
    }

    pub(crate) fn a(&self) -> PathBuf {
        self.0.path().join("a")
    }

    pub(crate) fn b(&self) -> PathBuf {
        self.0.path().join("b")
    }

    pub(crate) fn assert_equal(&self, story: &str) {
        // Sharing or preallocating may leave some more blocks than the source has.
        let options =
            CompareOptions { block_slack_bytes: 8192, ..CompareOptions::new(Aspects::all()) };
        let comparison = compare(&self.a(), &self.b(), &options);
        assert_eq!(comparison.findings, [], "{story}");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for root in [self.a(), self.b()] {
            let removed = remove_tree(&root);
            if root.symlink_metadata().is_ok() && !std::thread::panicking() {
                assert_eq!(removed, Ok(()));
            }
        }
    }
}

/// What all ranks reported.
#[derive(Default)]
pub(crate) struct Reports {
    pub(crate) failures: Mutex<Vec<Failure>>,
    /// What rank 0 printed for the others: the source of each failure.
    pub(crate) printed: Mutex<Vec<(Stream, Vec<u8>)>>,
    /// Number of entries that ranks other than 0 made or removed.
    pub(crate) by_others: AtomicUsize,
    /// What a rank reported that had nothing to copy.
    pub(crate) all_there: Mutex<Option<u64>>,
    /// Number of entries that ranks other than 0 have copied, after which the stop flag is set; 0 if
    /// it never is.
    pub(crate) stops_after: usize,
    /// Number of such entries so far.
    pub(crate) copied_by_others: AtomicUsize,
    /// Ranks that copied entries, with the targets.
    pub(crate) copied_by: Mutex<Vec<(usize, Vec<u8>)>>,
    /// Whether rank 0 waits after each entry until another rank has made or removed one.
    pub(crate) holds_back: bool,
}

impl Reports {
    /// Returns the failures that were no warnings.
    pub(crate) fn errors(&self) -> Vec<Failure> {
        let failures = self.failures.lock().unwrap();
        let is_error = |failure: &&Failure| failure.severity == Severity::Failure;
        failures.iter().filter(is_error).cloned().collect()
    }

    /// Copies by one process without ranks.
    pub(crate) fn copy_alone(&self, request: &Request) -> Counts {
        let stop = &AtomicBool::new(false);
        let (relay, control) = (&Relay::default(), Control::new(stop));
        let reporter = Reporter { rank: 0, relay, reports: self, stop };
        haul_engine::copy(request, &reporter, &control)
    }

    /// Copies as the only rank, which is connected like this.
    pub(crate) fn copy_with(
        &self,
        request: &Request,
        peers: &mut dyn Peers,
        control: &Control<'_>,
    ) -> Counts {
        let (relay, stop) = (&Relay::default(), &AtomicBool::new(false));
        let reporter = Reporter { rank: 0, relay, reports: self, stop };
        let ranks = Ranks { own: 0, count: 2 };
        haul_engine::copy_among(request, ranks, peers, &reporter, control).unwrap()
    }
}

struct Reporter<'a> {
    stop: &'a AtomicBool,
    rank: usize,
    relay: &'a Relay,
    reports: &'a Reports,
}

impl Monitor for Reporter<'_> {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Failed(failure) => {
                if self.rank > 0 {
                    self.relay.print(Stream::Error, &[&failure.source[..], b"\n"].concat());
                }
                self.reports.failures.lock().unwrap().push(failure.clone());
            }
            Report::AllThere(count) => *self.reports.all_there.lock().unwrap() = Some(count),
            Report::Entry(event) => self.entry(event),
            _ => {}
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries
    }
}

impl Reporter<'_> {
    fn entry(&self, event: &Event) {
        if event.outcome == Outcome::Copied {
            self.reports.copied_by.lock().unwrap().push((self.rank, event.target.clone()));
        }
        if self.rank > 0 && event.outcome == Outcome::Copied {
            let copied = 1 + self.reports.copied_by_others.fetch_add(1, Ordering::Relaxed);
            if copied == self.reports.stops_after {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        if self.rank > 0 {
            self.reports.by_others.fetch_add(1, Ordering::Relaxed);
        } else if self.reports.holds_back {
            // There may be no others, or nothing for them.
            let is_shared = || self.reports.by_others.load(Ordering::Relaxed) > 0;
            holds_within(Duration::from_millis(5), is_shared);
        }
    }
}

/// What a rank does of a request.
pub(crate) type Carry<R> = fn(&mut Link, &Relay, &Part<'_, R>) -> Result<Counts, Unsupported>;

/// Carries out a request with this many ranks, and returns what each of them returned. The stop flag
/// belongs to the last rank.
pub(crate) fn carry_out<R: Sync>(
    request: &R,
    ranks: usize,
    reports: &Reports,
    stop: &AtomicBool,
    carry: Carry<R>,
) -> Vec<Result<Counts, Unsupported>> {
    // One each, as processes have: a rank that ends because another one was stopped sets its own.
    let others: Vec<AtomicBool> = (0..ranks).map(|_| AtomicBool::new(false)).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = links(ranks)
            .into_iter()
            .map(|mut link| {
                let others = &others;
                scope.spawn(move || {
                    let relay = Relay::default();
                    let is_last = link.own() + 1 == ranks;
                    let control = &Control::new(if is_last { stop } else { &others[link.own()] });
                    let monitor = &Reporter { rank: link.own(), reports, relay: &relay, stop };
                    let print = &|stream, text: &[u8]| {
                        reports.printed.lock().unwrap().push((stream, text.to_vec()));
                    };
                    carry(&mut link, &relay, &Part { request, monitor, control, print })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Trees that an ordinary user can neither make nor read as a whole are for root.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits { entries: 300, ..Limits::default() };
    if !is_root() {
        limits.without.push(Feature::OddMode);
    }
    limits
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
