//! Judging a copy: with the manifest's oracle, which shares no code with what it judges.

use std::path::Path;

use haul_manifest::{Aspects, CompareOptions, Comparison, Manifest, ScanOptions, compare};

/// What a copy may allocate beyond its data: XFS reserves space behind the end of a file that
/// grows, up to the size of what was written, and gives it back later.
const SLACK_BYTES: u64 = 128 * 1024;

/// Compares two trees in the aspects given.
pub(crate) fn compared(a: &Path, b: &Path, aspects: Aspects) -> Comparison {
    let options = CompareOptions { block_slack_bytes: SLACK_BYTES, ..CompareOptions::new(aspects) };
    compare(a, b, &options)
}

/// Demands that two trees are equal in the aspects given.
///
/// # Panics
///
/// If they are not; the message lists the differences.
pub(crate) fn demand_equal(a: &Path, b: &Path, aspects: Aspects, context: &str) {
    let comparison = compared(a, b, aspects);
    assert!(comparison.is_equal(), "{context}: {}", shown(&comparison));
}

/// Lists what a comparison found.
pub(crate) fn shown(comparison: &Comparison) -> String {
    let mut lines: Vec<String> = comparison.differences().map(ToString::to_string).collect();
    if comparison.summary.failures > 0 {
        lines.push(format!("{:?}", comparison.findings));
    }
    lines.join("\n")
}

/// Describes a tree, to see later whether it is still the same. Without what is allocated, which also
/// changes when the file system writes at last what it was given before.
pub(crate) fn snapshot(root: &Path) -> Manifest {
    let mut manifest = Manifest::scan(root, &ScanOptions::default());
    for entry in &mut manifest.entries {
        entry.blocks = 0;
    }
    manifest
}
