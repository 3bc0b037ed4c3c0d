//! A report as JSON, for programs.

use serde::Serialize;

use crate::report::{Group, Grouping, Report, Tallies};

/// The layout of the document; increased whenever a field changes its meaning or is removed.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(flatten)]
    report: &'a Report,
    total: Tallies,
    groups: Vec<Group>,
}

/// Returns a JSON document on one line: the report with its finest grain (`units`), the total, and
/// the groups.
#[must_use]
pub fn json(report: &Report, grouping: Grouping) -> String {
    let document = Document {
        version: VERSION,
        report,
        total: report.total(),
        groups: report.groups(grouping),
    };
    // Strings, numbers and maps with string or integer keys: serialisation cannot fail.
    haul_manifest::safe_json(serde_json::to_string(&document).unwrap_or_default())
}
