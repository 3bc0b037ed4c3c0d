//! What a tool is to the benchmark.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::template::Template;

/// A command to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// What it is called in tables; unique within a run.
    pub name: String,
    /// The command.
    pub template: Template,
    /// Where the template's program was found, if that was looked up.
    pub program: Option<PathBuf>,
    /// The first line that it says of its version.
    pub version: Option<String>,
    /// The copy method that haul was told to use, if it was.
    pub method: Option<String>,
    /// What was varied, if the tool is one of a series.
    pub variation: Option<Variation>,
}

/// The place of a tool in a series, for plots of scaling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variation {
    /// What the series is of, such as `dd`.
    pub series: String,
    /// What was varied, such as `I/O bytes` or `jobs`.
    pub axis: String,
    /// Its value.
    pub value: u64,
}

/// When a known tool takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Always, where it is installed.
    Usual,
    /// Where it is named, or all are asked for.
    Extra,
    /// Where haul's copy methods are asked for, each by itself.
    Methods,
    /// Where a series over jobs is asked for.
    Jobs,
    /// Where a series over I/O sizes is asked for.
    Sizes,
    /// Where a series over requests in flight is asked for.
    Depths,
}

impl Group {
    /// All groups, in the order in which their tools stand in tables.
    pub const ALL: [Group; 6] =
        [Group::Usual, Group::Methods, Group::Jobs, Group::Sizes, Group::Depths, Group::Extra];
}

impl Tool {
    /// Returns a tool of the user's: a name and a template.
    #[must_use]
    pub fn new(name: impl Into<String>, template: Template) -> Tool {
        Tool {
            name: name.into(),
            template,
            program: None,
            version: None,
            method: None,
            variation: None,
        }
    }
}
