//! What is to be measured, and how.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ground::GroundSpec;
use crate::scenario::Scenario;
use crate::tool::Tool;

/// The state of the source's page cache when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Everything was read just before.
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

/// By which time tools are ranked. Both are always measured.
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

/// How often everything is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds that are not counted.
    pub warm_up: u32,
    /// Rounds that are counted, at most.
    pub counted: u32,
}

/// One table of the report: one scenario on one ground in one state of the cache.
#[derive(Clone, Debug)]
pub struct CaseSpec {
    /// What is copied or deleted.
    pub scenario: Scenario,
    /// Where.
    pub ground: GroundSpec,
    /// In which state.
    pub cache: CacheState,
    /// By whom; the names are unique.
    pub tools: Vec<Tool>,
    /// The name of the tool that the others are related to; the first one if it is not there.
    pub baseline: String,
}

/// Everything that a session needs to know.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// What is measured, in this order.
    pub cases: Vec<CaseSpec>,
    /// How often.
    pub rounds: Rounds,
    /// By which time tools are ranked.
    pub ranking: Ranking,
    /// What the order of the runs and the intervals follow from.
    pub seed: u64,
    /// How long the session may take: rounds are left out when it is over, but for the first five.
    pub budget: Option<Duration>,
    /// How long one run may take before it counts as failed.
    pub run_limit: Duration,
    /// A folder on a real disk, in which a file is made that others are supposed to use.
    pub work: PathBuf,
}
