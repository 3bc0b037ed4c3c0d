//! The shorter session.

use std::path::PathBuf;
use std::time::Duration;

use super::profile::{Profile, profiles};
use crate::error::{Error, Result};
use crate::scenario::{Scenario, Work};
use crate::session::{
    BenchOptions, CacheState, CaseSpec, Conditions, Ranking, Results, Rounds, Services, TimeLimit,
    estimate, run,
};
use crate::stats::VALUES_MIN;
use crate::tool::{Found, Group, Template, Tool};
use crate::workspace::{Backing, GroundSpec, storage_of};

/// The default scenarios of a tuning session: one kind of files for each decision that haul takes
/// by size. Small enough for any scratch directory.
pub const TUNE_SCENARIOS: [&str; 4] = [
    "nested-small:files=6000,dirs=30",
    "medium:files=96,dirs=4",
    "large:files=4",
    "huge:size=256M",
];

/// Options of a tuning session.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// The workspace; usually a directory on the file system to tune for.
    pub ground: GroundSpec,
    /// The haul to tune, as [`crate::discover`] found it.
    pub haul: Found,
    /// The scenarios, one choice for each; usually [`TUNE_SCENARIOS`].
    pub scenarios: Vec<Scenario>,
    /// Number of runs; at least five rounds, because fewer give no interval.
    pub rounds: u32,
    /// The seed of the order of the runs.
    pub seed: u64,
    /// Time limit: no run begins after it.
    pub budget: Option<Duration>,
    /// As [`BenchOptions::work`].
    pub work: PathBuf,
}

/// The methods that a profile may prefer. The others change the use of the page cache, which the
/// user decides, or share blocks, which haul always tries first, or map sources, which is unsafe if
/// a source shrinks.
const METHODS: [&str; 4] = ["copy-range", "sendfile", "splice", "read-write"];

fn may_be_preferred(tool: &Tool) -> bool {
    tool.method.as_ref().is_none_or(|method| METHODS.contains(&method.as_str()))
}

/// Returns a haul tool that ignores existing profiles.
fn without_profile(tool: Tool) -> Option<Tool> {
    let text = tool.template.text().replacen("haul cp ", "haul cp --profile=none ", 1);
    Some(Tool { template: Template::parse(&text).ok()?, ..tool })
}

/// Measures haul with each of its methods and several numbers of jobs, and computes profiles from
/// the results.
///
/// # Errors
///
/// As [`run`].
pub fn tune(options: &TuneOptions, services: &mut Services<'_>) -> Result<(Results, Vec<Profile>)> {
    let session = tune_session(options)?;
    estimate(&session, services)?;
    let results = run(&session, services)?;
    let profiles = profiles(&results, &device_of(&options.ground)?);
    Ok((results, profiles))
}

/// Returns the device of a workspace as profiles name it; empty for memory, which says nothing about
/// any device.
fn device_of(ground: &GroundSpec) -> Result<String> {
    let path = match ground {
        GroundSpec::Folder { path, .. }
        | GroundSpec::Fresh { backing: Backing::Disk(path), .. } => path,
        GroundSpec::Fresh { backing: Backing::Ram, .. } => return Ok(String::new()),
    };
    Ok(storage_of(path)?.map(|storage| storage.device).unwrap_or_default())
}

/// Returns the session that [`tune`] runs.
///
/// # Errors
///
/// A scenario does not copy.
pub fn tune_session(options: &TuneOptions) -> Result<BenchOptions> {
    let mut cases = Vec::new();
    for scenario in &options.scenarios {
        if scenario.work == Work::Delete {
            return Err(Error::Unfit("a profile has no settings for deletion"));
        }
        let mut tools = options.haul.tools(scenario.work, Group::Usual);
        for series in [Group::Methods, Group::Jobs] {
            tools.extend(options.haul.tools(scenario.work, series));
        }
        // Otherwise an earlier profile would affect the measurement.
        let tools: Vec<Tool> =
            tools.into_iter().filter(may_be_preferred).filter_map(without_profile).collect();
        cases.push(CaseSpec {
            scenario: scenario.clone(),
            ground: options.ground.clone(),
            cache: CacheState::Warm,
            tools,
            baseline: "haul".to_owned(),
        });
    }
    Ok(BenchOptions {
        cases,
        rounds: Rounds { warm_up: 1, counted: options.rounds.max(VALUES_MIN as u32) },
        ranking: Ranking::Command,
        seed: options.seed,
        limit: options.budget.map_or(TimeLimit::None, TimeLimit::Strict),
        run_limit: Duration::from_secs(120),
        conditions: Conditions::default(),
        work: options.work.clone(),
    })
}
