//! Definition of a scenario: the work, and the recipe of the tree.

use std::fmt;

use haul_manifest::{ItemKind, ParseError, Recipe, parse_recipe};
use serde::{Deserialize, Serialize};

use super::SCENARIOS;

/// The work of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Copy the directory `{source}` to `{target}`, which does not exist.
    CopyTree,
    /// Copy the file `{source}` to `{target}`, which does not exist.
    CopyFile,
    /// Delete the directory `{target}` with everything in it.
    Delete,
}

/// The amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Small: shows differences within seconds.
    Quick,
    /// Full: the basis of this project's speed claims.
    Full,
}

/// A scenario of the table.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The work.
    pub work: Work,
    /// The tree for a quick run; see [`haul_manifest::parse_recipe`].
    pub quick: &'static str,
    /// The tree for a full run.
    pub full: &'static str,
    /// How often the command is started within one run, each time with another target.
    pub repeats: u32,
}

/// A scenario with the tree that it is run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The work.
    pub work: Work,
    /// The recipe of the tree.
    pub recipe: Recipe,
    /// How often the command is started within one run.
    pub repeats: u32,
    /// How many processes copy at the same time, each to a target of its own; `None` if one is measured by itself.
    #[serde(default)]
    pub together: Option<u32>,
}

/// Size of the tree of a recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Entries below the root.
    pub entries: u64,
    /// Bytes of data.
    pub data_bytes: u64,
    /// Bytes of whole 4 KiB blocks that hold the data.
    pub block_bytes: u64,
}

/// The error of a scenario that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    /// The scenario is unknown.
    Unknown(String),
    /// The part after the colon is wrong.
    Recipe(ParseError),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Unknown(given) => {
                let names: Vec<&str> = SCENARIOS.iter().map(|each| each.name).collect();
                write!(f, "no scenario is called {given:?}; known are {}", names.join(", "))
            }
            ScenarioError::Recipe(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// Parses a scenario: its name, and after a colon changes to its recipe, such as `huge:size=4G` or
/// `nested-small:files=1000,dirs=10`.
///
/// # Errors
///
/// The name is unknown, or the recipe of that shape takes no such key or value.
pub fn parse_scenario(text: &str, scale: Scale, seed: u64) -> Result<Scenario, ScenarioError> {
    let (name, changes) = text.split_once(':').unwrap_or((text, ""));
    let definition = SCENARIOS
        .iter()
        .find(|each| each.name == name)
        .ok_or_else(|| ScenarioError::Unknown(name.to_owned()))?;
    definition.scenario(scale, seed, changes)
}

impl Definition {
    /// Returns the scenario at a scale, with `changes` (`key=value,…`) to its recipe.
    ///
    /// # Errors
    ///
    /// The changes do not fit the recipe.
    pub fn scenario(
        &self,
        scale: Scale,
        seed: u64,
        changes: &str,
    ) -> Result<Scenario, ScenarioError> {
        let text = match scale {
            Scale::Quick => self.quick,
            Scale::Full => self.full,
        };
        let mut recipe = parse_recipe(&change(text, changes)).map_err(ScenarioError::Recipe)?;
        if recipe.seed == 0 {
            recipe.seed = seed;
        }
        Ok(Scenario {
            name: self.name.to_owned(),
            work: self.work,
            recipe,
            repeats: self.repeats,
            together: None,
        })
    }
}

/// Replaces or adds values in a recipe's text.
fn change(text: &str, changes: &str) -> String {
    let (shape, keys) = text.split_once(':').unwrap_or((text, ""));
    let key = |pair: &str| pair.split_once('=').map_or(pair, |(key, _)| key).to_owned();
    let changes: Vec<&str> = changes.split(',').filter(|pair| !pair.is_empty()).collect();
    let kept = keys.split(',').filter(|pair| changes.iter().all(|new| key(new) != key(pair)));
    let pairs: Vec<&str> = kept.chain(changes.iter().copied()).collect();
    format!("{shape}:{}", pairs.join(","))
}

impl Scenario {
    /// Returns how many processes copy at the same time, at least 1.
    #[must_use]
    pub fn at_once(&self) -> u32 {
        self.together.unwrap_or(1).max(1)
    }

    /// Returns how many targets a run makes.
    #[must_use]
    pub fn targets(&self) -> u32 {
        self.repeats.max(1).saturating_mul(self.at_once())
    }

    /// Counts the entries and bytes of the recipe, without creating them.
    #[must_use]
    pub fn volume(&self) -> Volume {
        let mut volume = Volume::default();
        for item in self.recipe.items() {
            volume.entries += 1;
            if let ItemKind::Regular(body) = item.kind {
                let data: u64 = body.data.iter().map(|segment| segment.length).sum();
                volume.data_bytes += data;
                volume.block_bytes += data.div_ceil(4096) * 4096;
            }
        }
        volume
    }
}
