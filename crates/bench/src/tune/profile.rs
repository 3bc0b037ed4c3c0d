//! Profile of a pair of file systems, with the measurements.
//!
//! A profile names a method or a number of jobs only if the rounds show that haul is significantly
//! faster with it than with its defaults, because a wrong setting is worse than none.

use serde::{Deserialize, Serialize};

use crate::render::{Row, summarise};
use crate::scenario::Work;
use crate::session::{CacheState, Case, Results};
use crate::stats::{Ratio, VALUES_MIN};
use crate::tool::Tool;
use crate::workspace::Storage;

/// The version of profiles; a reader ignores other versions. Version 1 was for file systems on any
/// device.
pub const PROFILE_VERSION: u32 = 2;

/// The profile of one pair of file systems.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// [`PROFILE_VERSION`].
    pub version: u32,
    /// The version of the measured haul.
    pub haul: String,
    /// The kernel.
    pub kernel: String,
    /// The number of processors.
    pub cores: usize,
    /// When it was measured, in UTC.
    pub measured: String,
    /// The source's file system and device.
    pub source: Storage,
    /// The target's file system and device.
    pub target: Storage,
    /// The target's mount options.
    pub mount_options: String,
    /// Text for people: where it was measured.
    pub place: String,
    /// The preferred settings, one for each kind of files.
    pub choices: Vec<Choice>,
}

/// The preferred settings for one kind of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The scenario of the measurement.
    pub scenario: String,
    /// The mean size of its files.
    pub file_bytes: u64,
    /// How many entries it has.
    pub entries: u64,
    /// The state of the cache.
    pub cache: CacheState,
    /// The method that is significantly faster than haul's default, if any.
    pub method: Option<String>,
    /// All methods that work, the fastest first.
    pub method_order: Vec<String>,
    /// The number of jobs that is significantly faster than haul's default, if any.
    pub jobs: Option<u64>,
    /// Measured seconds with haul's defaults.
    pub own_time_s: f64,
    /// Measured time with the method, relative to the defaults.
    pub method_ratio: Option<Ratio>,
    /// Measured time with the jobs, relative to the defaults.
    pub jobs_ratio: Option<Ratio>,
    /// Number of rounds.
    pub rounds: usize,
}

/// Computes profiles from results: one for each pair of file systems on which a tool called `haul`
/// was measured as the baseline. Both are on the device; an empty one means any device.
#[must_use]
pub fn profiles(results: &Results, device: &str) -> Vec<Profile> {
    let on = |file_system| Storage { file_system, device: device.to_owned() };
    let mut profiles: Vec<Profile> = Vec::new();
    for case in &results.cases {
        let Some(choice) = choice(results, case) else { continue };
        let ground = &case.ground;
        let source = ground.source_file_system.clone().unwrap_or(ground.file_system.clone());
        let same = |profile: &&mut Profile| {
            profile.source.file_system == source
                && profile.target.file_system == ground.file_system
                && profile.place == ground.device
        };
        match profiles.iter_mut().find(same) {
            Some(profile) => profile.choices.push(choice),
            None => profiles.push(Profile {
                version: PROFILE_VERSION,
                haul: results.haul_version.clone(),
                kernel: results.environment.kernel.clone(),
                cores: results.environment.cores,
                measured: results.environment.time_text(),
                source: on(source),
                target: on(ground.file_system.clone()),
                mount_options: ground.mount_options.clone(),
                place: ground.device.clone(),
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
    // The time was over before the case was measured well enough to choose anything.
    if own.times_s.len() < VALUES_MIN {
        return None;
    }
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

/// Of several settings one is always the fastest by chance; so a setting must save at least this
/// share of the time, not only a significant amount.
const WORTH_IT: f64 = 0.05;

fn is_shown_faster(ratio: &Ratio) -> bool {
    ratio.interval.is_some_and(|interval| interval.high < 1.0 - WORTH_IT)
}
