//! All checks of failing disks, of both kinds.

use super::bench::Bench;
use super::cuts::{CUTS, Cut};
use super::failing::{FAILING, Failing};
use crate::error::Result;

/// One check of a disk.
pub(in crate::vm::guest) enum Check {
    Cut(&'static Cut),
    Failing(&'static Failing),
}

/// All checks, in the order of the table's columns.
pub(in crate::vm::guest) fn checks() -> impl Iterator<Item = Check> {
    let cuts = CUTS.iter().map(Check::Cut);
    cuts.chain(FAILING.iter().map(Check::Failing))
}

impl Check {
    /// The column of the table.
    pub(in crate::vm::guest) fn command(&self) -> &'static str {
        match self {
            Self::Cut(_) => "power cut",
            Self::Failing(_) => "failing disk",
        }
    }

    pub(in crate::vm::guest) fn name(&self) -> &'static str {
        match self {
            Self::Cut(cut) => cut.name,
            Self::Failing(failing) => failing.name,
        }
    }

    /// Runs the check, and returns what is wrong.
    pub(in crate::vm::guest) fn perform(&self, bench: Bench<'_>) -> Result<Vec<String>> {
        match self {
            Self::Cut(cut) => cut.perform(bench),
            Self::Failing(failing) => failing.perform(bench),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::guest::checks::CHECKS;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = checks().map(|check| check.name()).collect();
        names.extend(CHECKS.iter().map(|check| check.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
