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

/// What is beside the tools, and how much memory there is for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The working set of a process that reads at random during each run, in hundredths of the memory.
    pub bystander_percent: Option<u64>,
    /// Bytes of memory of a cgroup that each run takes place in; without it, the machine's memory counts.
    pub memory_bytes: Option<u64>,
}

/// How long a session may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// As long as its runs take.
    None,
    /// After this time, later rounds are left out, except the first five of each case.
    AfterFiveRounds(Duration),
    /// After this time no run begins. The cases are measured one after the other, so that the first ones
    /// are measured completely.
    Strict(Duration),
}

impl TimeLimit {
    /// Returns the limit of the next case, if so many cases are left when some time is spent.
    #[must_use]
    pub fn of_case(self, spent: Duration, cases: usize) -> TimeLimit {
        let cases = u32::try_from(cases).unwrap_or(u32::MAX).max(1);
        match self {
            TimeLimit::None => TimeLimit::None,
            TimeLimit::AfterFiveRounds(all) => {
                TimeLimit::AfterFiveRounds(all.saturating_sub(spent) / cases)
            }
            TimeLimit::Strict(all) => TimeLimit::Strict(all.saturating_sub(spent)),
        }
    }

    /// Returns the time, if it is limited.
    #[must_use]
    pub const fn time(self) -> Option<Duration> {
        match self {
            TimeLimit::None => None,
            TimeLimit::AfterFiveRounds(time) | TimeLimit::Strict(time) => Some(time),
        }
    }
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
    /// How long the session may take.
    pub limit: TimeLimit,
    /// How long one run may take before it counts as failed.
    pub run_limit: Duration,
    /// What is beside the tools.
    pub conditions: Conditions,
    /// A directory on a real disk for the hot file and the bystander's.
    pub work: PathBuf,
}
