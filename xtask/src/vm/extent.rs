//! What a run does on each file system.

use crate::error::{Error, Result};

/// Which checks run in the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All commands beside GNU's tools.
    All,
    /// The checks that a change is tested with.
    Smoke,
    /// Power cuts, and disks that fail.
    Disks,
}

impl Extent {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::All, "all"), (Self::Smoke, "smoke"), (Self::Disks, "disks")];

    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(extent, _)| *extent == self).map_or("", |(_, name)| name)
    }

    pub(super) fn of_name(named: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == named).map(|(extent, _)| *extent);
        found.ok_or_else(|| Error::new(format!("there is no extent {named:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_which_checks_run() {
        for (extent, name) in Extent::NAMES {
            assert_eq!(extent.name(), name);
            assert!(Extent::of_name(name).is_ok_and(|read| read == extent));
        }
        assert!(Extent::of_name("none").is_err());
    }
}
