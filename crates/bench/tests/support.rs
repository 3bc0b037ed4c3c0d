//! What several tests need.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_bench::{
    BenchOptions, CacheState, CaseSpec, ColdMeans, Conditions, Error, Event, GroundSpec, Monitor,
    Ranking, Results, Rounds, Scale, Services, Template, TimeLimit, Tool, parse_scenario, run,
};

/// Makes a tool.
pub(crate) fn tool(name: &str, template: &str) -> Tool {
    Tool::new(name, Template::any(template).unwrap())
}

/// Says that a test, or a part of it, cannot run here. libtest can only ignore tests beforehand,
/// and hides what `eprintln` writes when a test passes; this is seen.
pub(crate) fn ignored(needs: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let mut seen = std::io::stderr();
    writeln!(seen, "ignored: {name} needs {needs}").unwrap();
}

/// A scratch directory.
pub(crate) fn folder_ground(path: &Path) -> GroundSpec {
    GroundSpec::Folder { path: path.to_owned(), to: None, cold: ColdMeans::Advise }
}

/// One case of a small scenario.
pub(crate) fn options(
    scenario: &str,
    ground: GroundSpec,
    tools: Vec<Tool>,
    work: &Path,
) -> BenchOptions {
    let case = CaseSpec {
        scenario: parse_scenario(scenario, Scale::Quick, 7).unwrap(),
        ground,
        cache: CacheState::Warm,
        baseline: tools[0].name.clone(),
        tools,
    };
    BenchOptions {
        cases: vec![case],
        rounds: Rounds { warm_up: 0, counted: 2 },
        ranking: Ranking::Command,
        seed: 5,
        limit: TimeLimit::None,
        run_limit: Duration::from_secs(60),
        conditions: Conditions::default(),
        work: work.to_owned(),
    }
}

/// Records all events, and interrupts at the n-th event if requested.
pub(crate) struct Recorder<'a> {
    pub(crate) events: Vec<String>,
    pub(crate) stop_at: Option<usize>,
    pub(crate) interrupt: &'a AtomicBool,
}

impl Monitor for Recorder<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.events.push(format!("{event:?}"));
        if self.stop_at == Some(self.events.len()) {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs a session and returns what it found and said.
pub(crate) fn session(
    options: &BenchOptions,
    stop_at: Option<usize>,
) -> (Result<Results, Error>, Vec<String>) {
    let interrupt = AtomicBool::new(false);
    let mut recorder = Recorder { events: Vec::new(), stop_at, interrupt: &interrupt };
    let mut services = Services { monitor: &mut recorder, interrupt: &interrupt, counter: None };
    let results = run(options, &mut services);
    (results, recorder.events)
}

/// Returns the names in a directory, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
