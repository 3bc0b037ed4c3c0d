//! Findings and totals of a comparison.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Difference, Side};
use crate::failure::Failure;
use crate::text::RawText;

/// One result, reported to the caller during the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The trees differ here.
    Difference(Difference),
    /// An entry could not be read; whether the trees are equal there is unknown.
    Failure {
        /// The tree in which it failed.
        side: Side,
        /// That tree's root, as it was given.
        operand: RawText,
        /// The failure.
        failure: Failure,
    },
}

/// Shows one escaped line without an end of line; for a failure, includes the root operand.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Difference(difference) => difference.fmt(f),
            Self::Failure { operand, failure, .. } => failure.under(operand).fmt(f),
        }
    }
}

/// Result of a comparison. The values in parentheses are diff(1)'s and cmp(1)'s exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was compared and is equal (0).
    Equal,
    /// Everything was compared, or the caller ended it; there are differences (1).
    Different,
    /// An entry could not be compared, or the caller ended the comparison before it found a
    /// difference (2).
    Trouble,
}

/// Counts of what was compared and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Pairs of entries that were compared, with the roots.
    pub entries: u64,
    /// Bytes of file contents that were read and compared, on each side.
    pub bytes: u64,
    /// Bytes that were not read because both sides report a hole.
    pub hole_bytes: u64,
    /// Differences by [`crate::What::label`].
    pub differences: BTreeMap<String, u64>,
    /// Differences that do not count, because one of the file systems cannot store what the other one has, by
    /// [`crate::What::label`]; see [`crate::Precision`].
    pub left_out: BTreeMap<String, u64>,
    /// Failures on both sides.
    pub failures: u64,
    /// Whether the caller ended the comparison.
    pub stopped: bool,
}

impl Summary {
    /// Adds what another process has compared and found.
    pub fn add(&mut self, other: &Summary) {
        self.entries += other.entries;
        // As within one process, a sum that overflows stays at its end.
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.hole_bytes = self.hole_bytes.saturating_add(other.hole_bytes);
        for (sums, others) in
            [(&mut self.differences, &other.differences), (&mut self.left_out, &other.left_out)]
        {
            for (label, count) in others {
                *sums.entry(label.clone()).or_default() += count;
            }
        }
        self.failures += other.failures;
        self.stopped |= other.stopped;
    }

    /// Returns the number of all differences.
    #[must_use]
    pub fn total_differences(&self) -> u64 {
        self.differences.values().sum()
    }

    /// Returns the result in words: `no difference`, `2 differences`, `no difference in what could
    /// be compared, 1 failure`. If no pair was compared, it is `nothing was compared`.
    #[must_use]
    pub fn conclusion(&self) -> String {
        if self.entries == 0 {
            return "nothing was compared".to_owned();
        }
        let differences = match self.total_differences() {
            0 => "no difference".to_owned(),
            1 => "1 difference".to_owned(),
            many => format!("{many} differences"),
        };
        match self.failures {
            0 => differences,
            1 => format!("{differences} in what could be compared, 1 failure"),
            many => format!("{differences} in what could be compared, {many} failures"),
        }
    }

    /// Returns how the comparison ended. Failures take precedence over differences.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let differences = self.total_differences();
        if self.failures > 0 || (self.stopped && differences == 0) {
            Verdict::Trouble
        } else if differences > 0 {
            Verdict::Different
        } else {
            Verdict::Equal
        }
    }
}

/// All findings of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The findings in order, at most [`Comparison::FINDINGS_MAX`]; the summary counts all.
    pub findings: Vec<Finding>,
    /// The totals.
    pub summary: Summary,
}

impl Comparison {
    /// Maximum number of findings kept, which bounds the memory when two large trees have nothing
    /// in common. [`crate::compare_with`] reports all of them.
    pub const FINDINGS_MAX: usize = 10_000;

    /// Returns the differences among the kept findings.
    pub fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::Difference(difference) => Some(difference),
            Finding::Failure { .. } => None,
        })
    }

    /// Returns whether everything was compared and is equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.summary.verdict() == Verdict::Equal
    }
}
