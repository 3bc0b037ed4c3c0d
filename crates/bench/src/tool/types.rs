//! Tools as the benchmark describes them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::template::Template;

/// A command to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name in tables; unique within a run.
    pub name: String,
    /// The command.
    pub template: Template,
    /// The path of the template's program, if it was searched for.
    pub program: Option<PathBuf>,
    /// The first line of its version output.
    pub version: Option<String>,
    /// The copy method that the command selects for haul, if any.
    pub method: Option<String>,
    /// The varied parameter, if the tool belongs to a series.
    pub variation: Option<Variation>,
}

/// The position of a tool in a series, for scaling plots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variation {
    /// The name of the series, such as `dd`.
    pub series: String,
    /// The varied parameter, such as `I/O bytes` or `jobs`.
    pub axis: String,
    /// Its value.
    pub value: u64,
}

/// The group of comparisons that includes a known tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Always, if it is installed.
    Usual,
    /// If it is named, or all tools are requested.
    Extra,
    /// If haul's copy methods are requested.
    Methods,
    /// If a series over jobs is requested.
    Jobs,
    /// If a series over I/O sizes is requested.
    Sizes,
    /// If a series over requests in flight is requested.
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
