//! What a check has found: differences of two trees, by the code that shares nothing with haul's copying.

use super::checks::Keeps;
use haul_manifest::{Aspect, Aspects, CompareOptions, Precision, RootAttributes, compare};
use std::path::Path;

/// Differences that a result shows.
const SHOWN: usize = 6;

/// Bytes that haul may allocate more than GNU's tools: less than the hole of the trees.
const SLACK_BYTES: u64 = 4 << 20;

/// Compares what GNU's tools and haul have made. Both are on one file system, so every aspect counts.
pub(super) fn beside_gnu(gnu: &Path, haul: &Path, keeps: Keeps) -> Vec<String> {
    let aspects = match keeps {
        Keeps::All => Aspects::all(),
        Keeps::Contents => Aspects::all().without(Aspect::Mtime),
    };
    found("beside GNU's", gnu, haul, aspects, Precision::Exact)
}

/// Compares a copy with its original.
pub(super) fn with_original(original: &Path, copy: &Path, keeps: Keeps) -> Vec<String> {
    let aspects = match keeps {
        Keeps::All => Aspects::preserved(),
        Keeps::Contents => Aspects::contents_only(),
    };
    found("beside the original", original, copy, aspects, Precision::Stored)
}

fn found(what: &str, a: &Path, b: &Path, aspects: Aspects, precision: Precision) -> Vec<String> {
    let options = CompareOptions {
        precision,
        root_attributes: RootAttributes::Ignore,
        block_slack_bytes: SLACK_BYTES,
        ..CompareOptions::new(aspects)
    };
    let comparison = compare(a, b, &options);
    if comparison.is_equal() {
        return Vec::new();
    }
    let shown = comparison.findings.iter().take(SHOWN).map(ToString::to_string);
    let count = comparison.summary.conclusion();
    vec![format!("{what}: {count}: {}", shown.collect::<Vec<_>>().join("; "))]
}
