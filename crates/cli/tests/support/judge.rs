//! Comparing a copy with its source, by the manifest crate, which shares no code with haul's engine.

use std::path::Path;

use haul_manifest::{Aspects, CompareOptions, Comparison, Manifest, ScanOptions, compare};

/// Space that a copy may allocate beyond its data: XFS reserves space beyond the end of a growing file,
/// up to the size written so far, and releases it later.
const SLACK_BYTES: u64 = 128 * 1024;

/// Compares two trees in the aspects given.
pub(crate) fn compared(a: &Path, b: &Path, aspects: Aspects) -> Comparison {
    let options = CompareOptions { block_slack_bytes: SLACK_BYTES, ..CompareOptions::new(aspects) };
    compare(a, b, &options)
}

/// Asserts that two trees are equal in the aspects given.
///
/// # Panics
///
/// If they are not; the message lists the differences.
pub(crate) fn demand_equal(a: &Path, b: &Path, aspects: Aspects, context: &str) {
    let comparison = compared(a, b, aspects);
    assert!(comparison.is_equal(), "{context}: {}", shown(&comparison));
}

/// Lists the differences of a comparison.
pub(crate) fn shown(comparison: &Comparison) -> String {
    let mut lines: Vec<String> = comparison.differences().map(ToString::to_string).collect();
    if comparison.summary.failures > 0 {
        lines.push(format!("{:?}", comparison.findings));
    }
    lines.join("\n")
}

/// Describes a tree, to check later whether it is unchanged. Without allocated blocks, which also change
/// when the file system writes delayed data.
pub(crate) fn snapshot(root: &Path) -> Manifest {
    let mut manifest = Manifest::scan(root, &ScanOptions::default());
    for entry in &mut manifest.entries {
        entry.blocks = 0;
    }
    manifest
}
