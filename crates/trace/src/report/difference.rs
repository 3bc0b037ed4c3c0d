//! Two reports side by side, the largest differences first.

use super::{Report, Tally};
use crate::calls::Name;

/// One call in two reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The call.
    pub name: Name,
    /// Its figures in the first report.
    pub first: Tally,
    /// Its figures in the second report.
    pub second: Tally,
}

impl Difference {
    /// Returns the difference of the counts.
    #[must_use]
    pub fn count_gap(&self) -> u64 {
        self.first.count.abs_diff(self.second.count)
    }

    /// Returns the difference of the times, in nanoseconds.
    #[must_use]
    pub fn time_gap_ns(&self) -> u64 {
        self.first.total_ns.abs_diff(self.second.total_ns)
    }
}

/// Pairs the system calls and then the io_uring operations of two reports.
///
/// Calls that differ in count or bytes come first, by the difference in time; the calls that differ
/// only in time follow.
#[must_use]
pub fn differences(first: &Report, second: &Report) -> Vec<Difference> {
    let (first, second) = (first.total(), second.total());
    let mut pairs = Vec::new();
    for (one, other, prefix) in
        [(&first.calls, &second.calls, ""), (&first.operations, &second.operations, "io_uring ")]
    {
        let mut names: Vec<&Name> = one.keys().chain(other.keys()).collect();
        names.sort_unstable();
        names.dedup();
        pairs.extend(names.into_iter().map(|name| Difference {
            name: format!("{prefix}{name}").into(),
            first: one.get(name).cloned().unwrap_or_default(),
            second: other.get(name).cloned().unwrap_or_default(),
        }));
    }
    pairs.sort_by_key(|pair| {
        let same = pair.count_gap() == 0 && pair.first.bytes == pair.second.bytes;
        let most = pair.first.count.max(pair.second.count);
        (same, std::cmp::Reverse((pair.time_gap_ns(), most)))
    });
    pairs
}
