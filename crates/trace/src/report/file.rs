//! What was done to one file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Tally;
use crate::calls::Name;

/// The calls on one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileUse {
    /// The path as the kernel knows it, from the root of its mounts; `pipe:[N]` and the like for
    /// what has none; the path of the argument where a call named one and no file was opened.
    /// Bytes that are no UTF-8 are replaced.
    pub path: String,
    /// The calls by name. Latency histograms are not kept by file.
    pub calls: BTreeMap<Name, Tally>,
}

impl FileUse {
    /// Returns how many calls there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.calls.values().map(|tally| tally.count).sum()
    }

    /// Returns how many bytes the calls moved or asked for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.calls.values().fold(0, |sum, tally| sum.saturating_add(tally.bytes))
    }

    /// Returns how many calls failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.calls.values().map(Tally::failed).sum()
    }
}

/// Joins the uses of one path and puts the ones with most bytes first.
pub(crate) fn merged(uses: impl IntoIterator<Item = FileUse>) -> Vec<FileUse> {
    let mut by_path: BTreeMap<String, BTreeMap<Name, Tally>> = BTreeMap::new();
    for file in uses {
        let calls = by_path.entry(file.path).or_default();
        for (name, tally) in file.calls {
            calls.entry(name).or_default().add(&tally);
        }
    }
    let mut files: Vec<FileUse> =
        by_path.into_iter().map(|(path, calls)| FileUse { path, calls }).collect();
    files.sort_by_key(|file| std::cmp::Reverse((file.bytes(), file.count())));
    files
}
