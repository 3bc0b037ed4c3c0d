//! The shorter run.

use std::path::PathBuf;
use std::time::Duration;

use super::profile::{Profile, profiles};
use crate::ground::GroundSpec;
use crate::scenario::{Scenario, Work};
use crate::session::{BenchOptions, CacheState, CaseSpec, Ranking, Results, Rounds, Services, run};
use crate::stats::VALUES_MIN;
use crate::tool::{Found, Group, Template, Tool};
use crate::trouble::{Result, Trouble};

/// What is measured to tune unless somebody says what: one kind of files for each decision that
/// haul takes by size. Small enough for any scratch folder.
pub const TUNE_SCENARIOS: [&str; 4] = [
    "nested-small:files=6000,dirs=30",
    "medium:files=96,dirs=4",
    "large:files=4",
    "huge:size=256M",
];

/// What is to be tuned.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// Where; usually a folder on the file system in question.
    pub ground: GroundSpec,
    /// The haul to be tuned, as [`crate::discover`] found it.
    pub haul: Found,
    /// What is copied: a choice is made for each; usually [`TUNE_SCENARIOS`].
    pub scenarios: Vec<Scenario>,
    /// How often everything is run; at least five rounds are, since fewer show nothing.
    pub rounds: u32,
    /// What the order of the runs follows from.
    pub seed: u64,
    /// How long it may take.
    pub budget: Option<Duration>,
    /// As [`BenchOptions::work`].
    pub work: PathBuf,
}

/// The methods that a profile may prefer. The others change what becomes of the page cache, which
/// is the user's choice and no matter of speed, or share blocks, which always comes first, or map
/// sources, which a source that shrinks makes dangerous.
const METHODS: [&str; 4] = ["copy-range", "sendfile", "splice", "read-write"];

fn may_be_preferred(tool: &Tool) -> bool {
    tool.method.as_ref().is_none_or(|method| METHODS.contains(&method.as_str()))
}

/// Has haul's copies made without the profile that there may be.
fn without_profile(tool: Tool) -> Option<Tool> {
    let text = tool.template.text().replacen("haul cp ", "haul cp --profile=none ", 1);
    Some(Tool { template: Template::parse(&text).ok()?, ..tool })
}

/// Measures haul against itself with each of its methods and several numbers of jobs, and draws
/// profiles from that.
///
/// # Errors
///
/// As [`run`].
pub fn tune(options: &TuneOptions, services: &mut Services<'_>) -> Result<(Results, Vec<Profile>)> {
    let results = run(&tune_session(options)?, services)?;
    let profiles = profiles(&results);
    Ok((results, profiles))
}

/// Returns the session that [`tune`] runs.
///
/// # Errors
///
/// There is a scenario that copies nothing.
pub fn tune_session(options: &TuneOptions) -> Result<BenchOptions> {
    let mut cases = Vec::new();
    for scenario in &options.scenarios {
        if scenario.work == Work::Delete {
            return Err(Trouble::Unfit("deleting has nothing that a profile could say"));
        }
        let mut tools = options.haul.tools(scenario.work, Group::Usual);
        for series in [Group::Methods, Group::Jobs] {
            tools.extend(options.haul.tools(scenario.work, series));
        }
        // Else an earlier profile would be measured, and not haul by itself.
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
        budget: options.budget,
        run_limit: Duration::from_secs(120),
        work: options.work.clone(),
    })
}
