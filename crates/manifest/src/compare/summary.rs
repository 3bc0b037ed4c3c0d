//! What a comparison found, in sum.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Difference, Side};
use crate::failure::Failure;
use crate::text::RawText;

/// Hands one result to the caller while the comparison goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The trees differ here.
    Difference(Difference),
    /// Something could not be read; whether the trees are equal there is not known.
    Failure {
        /// The tree in which it failed.
        side: Side,
        /// That tree's root, as it was given.
        operand: RawText,
        /// What failed.
        failure: Failure,
    },
}

/// Shows one escaped line without an end of line; for a failure with the operand that it is in.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Difference(difference) => difference.fmt(f),
            Self::Failure { operand, failure, .. } => failure.under(operand).fmt(f),
        }
    }
}

/// Says how a comparison ended. The values in brackets are diff(1)'s and cmp(1)'s exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was compared and is equal (0).
    Equal,
    /// Everything was compared, or the caller ended it; there are differences (1).
    Different,
    /// Something could not be compared, or the caller ended it before anything was found (2).
    Trouble,
}

/// Counts what was compared and what was found.
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
    /// Failures on both sides.
    pub failures: u64,
    /// Whether the caller ended the comparison.
    pub stopped: bool,
}

impl Summary {
    /// Returns the number of all differences.
    #[must_use]
    pub fn total_differences(&self) -> u64 {
        self.differences.values().sum()
    }

    /// Returns the outcome in words: `no difference`, `2 differences`, `no difference in what could be
    /// compared, 1 failure`. Without a single pair that was compared it is `nothing was compared`.
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

    /// Returns how the comparison ended. Failures outweigh differences.
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

/// Holds everything that a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The findings in order, at most [`Comparison::FINDINGS_MAX`]; the summary counts all.
    pub findings: Vec<Finding>,
    /// The sum.
    pub summary: Summary,
}

impl Comparison {
    /// How many findings are kept: more than anybody reads, little enough for memory when two
    /// large trees have nothing in common. [`crate::compare_with`] hands out all of them.
    pub const FINDINGS_MAX: usize = 10_000;

    /// Returns the differences that were kept.
    pub fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::Difference(difference) => Some(difference),
            Finding::Failure { .. } => None,
        })
    }

    /// Says whether everything was compared and is equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.summary.verdict() == Verdict::Equal
    }
}
