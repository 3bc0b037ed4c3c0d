//! Options of a session.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::tool::Tool;
use crate::workspace::GroundSpec;

/// The state of the source's page cache when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// The source was just read completely.
    Warm,
    /// Nothing of the source's data is cached.
    Cold,
}

impl CacheState {
    /// Returns the word for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CacheState::Warm => "warm",
            CacheState::Cold => "cold",
        }
    }
}

/// The time by which tools are ranked. Both are always measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// Until the command ends.
    Command,
    /// Until a `syncfs` after it ends: until everything is on the device.
    WithSync,
}

impl Ranking {
    /// Returns the words for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ranking::Command => "time of the command",
            Ranking::WithSync => "time with the final sync",
        }
    }
}

/// Number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds that are not counted.
    pub warm_up: u32,
    /// Rounds that are counted, at most.
    pub counted: u32,
}

/// One table of the report: one scenario on one workspace in one state of the cache.
#[derive(Clone, Debug)]
pub struct CaseSpec {
    /// The scenario.
    pub scenario: Scenario,
    /// Where.
    pub ground: GroundSpec,
    /// The cache state.
    pub cache: CacheState,
    /// The tools; their names are unique.
    pub tools: Vec<Tool>,
    /// The name of the baseline tool; the first one if it is missing.
    pub baseline: String,
}

/// Options of a session.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The cases, in order.
    pub cases: Vec<CaseSpec>,
    /// Number of runs.
    pub rounds: Rounds,
    /// By which time tools are ranked.
    pub ranking: Ranking,
    /// The seed of the order of the runs and of the intervals.
    pub seed: u64,
    /// How long the session may take: later rounds are skipped, except the first five.
    pub budget: Option<Duration>,
    /// How long one run may take before it counts as failed.
    pub run_limit: Duration,
    /// A directory on a real disk for the hot file.
    pub work: PathBuf,
}

impl BenchOptions {
    /// Returns roughly how long the session takes, before anything is known of the machine: a run makes
    /// a place and the files in it, copies them, and compares the copies. After the first run the
    /// measured times replace this.
    #[must_use]
    pub fn rough_time(&self) -> Duration {
        const PLACE: Duration = Duration::from_millis(700);
        const ENTRY: Duration = Duration::from_micros(120);
        const BYTES_PER_SECOND: u64 = 300 << 20;
        let rounds = self.rounds.warm_up.saturating_add(self.rounds.counted);
        let cases = self.cases.iter().map(|case| {
            let volume = case.scenario.volume();
            let entries = u32::try_from(volume.entries).unwrap_or(u32::MAX);
            let bytes = Duration::from_millis(volume.data_bytes * 1000 / BYTES_PER_SECOND);
            let run = PLACE.saturating_add(ENTRY.saturating_mul(entries)).saturating_add(bytes);
            run.saturating_mul(rounds)
                .saturating_mul(u32::try_from(case.tools.len()).unwrap_or(u32::MAX))
        });
        cases.fold(Duration::ZERO, Duration::saturating_add)
    }
}
