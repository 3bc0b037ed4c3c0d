//! Limits of the size and the time of entries.

use haul_sys::fs::{Kind, Stat, Time};

/// Limits that an entry has to be within. They do not concern directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Smallest size of a regular file, in bytes.
    pub least_bytes: Option<u64>,
    /// Largest size of a regular file, in bytes.
    pub most_bytes: Option<u64>,
    /// Time after which an entry was modified.
    pub newer_than: Option<Time>,
    /// Time before which an entry was modified.
    pub older_than: Option<Time>,
}

impl Limits {
    /// Returns whether there is no limit.
    #[must_use]
    pub fn are_none(&self) -> bool {
        *self == Limits::default()
    }

    /// Returns whether the size of an entry is within the limits. They concern regular files; with
    /// `only_files` a limit excludes everything else.
    pub(crate) fn hold_size(&self, stat: &Stat, only_files: bool) -> bool {
        if stat.kind() != Kind::Regular {
            let are_none = self.least_bytes.is_none() && self.most_bytes.is_none();
            return are_none || !only_files;
        }
        self.least_bytes.is_none_or(|least| stat.size >= least)
            && self.most_bytes.is_none_or(|most| stat.size <= most)
    }

    /// Returns whether the time of an entry is within the limits.
    pub(crate) fn hold_time(&self, stat: &Stat) -> bool {
        let time = |time: &Time| (time.seconds, time.nanoseconds);
        let own = time(&stat.mtime);
        self.newer_than.as_ref().is_none_or(|limit| own > time(limit))
            && self.older_than.as_ref().is_none_or(|limit| own < time(limit))
    }
}
