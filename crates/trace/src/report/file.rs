//! The figures of one file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Tally;
use crate::calls::Name;

/// The calls on one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileUse {
    /// The kernel's path, from the root of its mounts; `pipe:[N]` or similar for a file without a
    /// path; the path of the argument if a call named one and opened no file. Invalid UTF-8 is
    /// replaced.
    pub path: String,
    /// The calls by name. Latency histograms are not recorded by file.
    pub calls: BTreeMap<Name, Tally>,
}

impl FileUse {
    /// Returns the number of calls.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.calls.values().map(|tally| tally.count).sum()
    }

    /// Returns the bytes that the calls moved or requested.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.calls.values().fold(0, |sum, tally| sum.saturating_add(tally.bytes))
    }

    /// Returns the number of failed calls.
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
