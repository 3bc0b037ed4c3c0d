//! What was learned of a pair of file systems, with the evidence.
//!
//! A profile is advice, and wrong advice is worse than none: it names a method or a number of jobs
//! only where the rounds *show* that haul does better with it than by itself.

use serde::{Deserialize, Serialize};

use crate::render::{Row, summarise};
use crate::scenario::Work;
use crate::session::{CacheState, Case, Results};
use crate::stats::Ratio;
use crate::tool::Tool;

/// The version of profiles; a reader ignores others.
pub const PROFILE_VERSION: u32 = 1;

/// What was learned of one pair of file systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`PROFILE_VERSION`].
    pub version: u32,
    /// The version of haul that was measured.
    pub haul: String,
    /// The kernel.
    pub kernel: String,
    /// The number of processors.
    pub cores: usize,
    /// When it was measured, in UTC.
    pub measured: String,
    /// The source's file system.
    pub source_file_system: String,
    /// The target's file system.
    pub target_file_system: String,
    /// The target's mount options.
    pub mount_options: String,
    /// The target's device.
    pub device: String,
    /// What to prefer, one for each kind of files.
    pub choices: Vec<Choice>,
}

/// What to prefer for one kind of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The scenario that it was measured with.
    pub scenario: String,
    /// The mean size of its files.
    pub file_bytes: u64,
    /// How many entries it has.
    pub entries: u64,
    /// The state of the cache.
    pub cache: CacheState,
    /// The method that is shown to be faster than haul's own choice, if one is.
    pub method: Option<String>,
    /// All methods that work, the fastest first.
    pub method_order: Vec<String>,
    /// The number of jobs that is shown to be faster than haul's own choice, if one is.
    pub jobs: Option<u64>,
    /// The evidence: seconds that haul takes by itself.
    pub own_time_s: f64,
    /// The evidence: with the method, in relation to that.
    pub method_ratio: Option<Ratio>,
    /// The evidence: with the jobs, in relation to that.
    pub jobs_ratio: Option<Ratio>,
    /// The evidence: how many rounds.
    pub rounds: usize,
}

/// Draws profiles from results: one for each pair of file systems on which a tool called `haul` was
/// measured as the baseline.
#[must_use]
pub fn profiles(results: &Results) -> Vec<Profile> {
    let mut profiles: Vec<Profile> = Vec::new();
    for case in &results.cases {
        let Some(choice) = choice(results, case) else { continue };
        let ground = &case.ground;
        let source = ground.source_file_system.clone().unwrap_or(ground.file_system.clone());
        let same = |profile: &&mut Profile| {
            profile.source_file_system == source
                && profile.target_file_system == ground.file_system
                && profile.device == ground.device
        };
        match profiles.iter_mut().find(same) {
            Some(profile) => profile.choices.push(choice),
            None => profiles.push(Profile {
                version: PROFILE_VERSION,
                haul: results.haul_version.clone(),
                kernel: results.environment.kernel.clone(),
                cores: results.environment.cores,
                measured: results.environment.time_text(),
                source_file_system: source,
                target_file_system: ground.file_system.clone(),
                mount_options: ground.mount_options.clone(),
                device: ground.device.clone(),
                choices: vec![choice],
            }),
        }
    }
    profiles
}

fn choice(results: &Results, case: &Case) -> Option<Choice> {
    if case.scenario.work == Work::Delete {
        return None;
    }
    let summary = summarise(results, case);
    let own = summary.rows.iter().find(|row| row.tool == case.baseline && row.is_ranked())?;
    let tool_of = |row: &Row| case.tools.iter().find(|tool| tool.name == row.tool);
    let ranked = || summary.rows.iter().filter(|row| row.is_ranked());
    let methods: Vec<(&Row, String)> =
        ranked().filter_map(|row| Some((row, tool_of(row)?.method.clone()?))).collect();
    let jobs_of = |tool: &Tool| {
        let variation = tool.variation.as_ref()?;
        (variation.axis == "jobs").then_some(variation.value)
    };
    let jobs: Vec<(&Row, u64)> =
        ranked().filter_map(|row| Some((row, jobs_of(tool_of(row)?)?))).collect();
    let better = |row: &Row| row.ratio.filter(is_shown_faster);
    let method = methods.first().and_then(|(row, name)| Some((name.clone(), better(row)?)));
    let best_jobs = jobs.first().and_then(|(row, jobs)| Some((*jobs, better(row)?)));
    let entries = case.volume.entries.max(1);
    Some(Choice {
        scenario: case.scenario.name.clone(),
        file_bytes: case.volume.data_bytes / entries,
        entries,
        cache: case.cache,
        method_order: methods.into_iter().map(|(_, name)| name).collect(),
        method: method.as_ref().map(|(name, _)| name.clone()),
        method_ratio: method.map(|(_, ratio)| ratio),
        jobs: best_jobs.map(|(jobs, _)| jobs),
        jobs_ratio: best_jobs.map(|(_, ratio)| ratio),
        own_time_s: own.time_s,
        rounds: own.times_s.len(),
    })
}

/// Several settings are tried, and one of them is always the luckiest; so it has to be shown that a
/// setting saves at least this share of the time, not only that it saves any.
const WORTH_IT: f64 = 0.05;

fn is_shown_faster(ratio: &Ratio) -> bool {
    ratio.interval.is_some_and(|interval| interval.high < 1.0 - WORTH_IT)
}
