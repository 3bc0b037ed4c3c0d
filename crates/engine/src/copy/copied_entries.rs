//! Copied entries of a run, by identity and state, so that a move removes no other entry.
//!
//! Between the copy and the removal, new entries can appear in the source: a directory that is
//! renamed into it has entries with old timestamps. So the removal does not compare timestamps,
//! which come from clocks that may differ. It checks whether this inode in this state was copied.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use haul_sys::fs::{Kind, Stat};

use crate::names::known_names::SourceState;

/// Number of parts of the set: with several parts, workers rarely wait for the same lock.
const LOCKS: usize = 16;

/// A set of entries with 8 bytes for each: a keyed hash of its identity and state. With 10,000,000
/// entries, the probability that two have the same hash is 1 in 370,000. A collision matters only
/// if one of the two was never copied.
#[derive(Debug, Default)]
pub(crate) struct CopiedEntries {
    parts: [Mutex<HashSet<u64>>; LOCKS],
    /// Identities of regular target files that operands were copied to.
    targets: Mutex<HashSet<(u64, u64)>>,
    hasher: RandomState,
}

impl CopiedEntries {
    /// Adds an entry that is complete in the target, with its state when its bytes were read; for a
    /// directory, when its attributes were read.
    pub(crate) fn insert(&self, stat: &Stat) {
        self.insert_hash(self.hash_of_state(stat));
        if stat.kind() == Kind::Directory {
            self.insert_hash(self.hash_of_attributes(stat));
        }
    }

    fn insert_hash(&self, hash: u64) {
        if let Some(part) = self.parts.get(hash as usize % LOCKS) {
            part.lock().insert(hash);
        }
    }

    /// Returns whether an entry was copied and still is in the copied state. A directory also leaves
    /// this state if entries are made or removed in it.
    pub(crate) fn contains(&self, stat: &Stat) -> bool {
        self.contains_hash(self.hash_of_state(stat))
    }

    /// Returns whether a directory was copied with its present owner and mode.
    pub(crate) fn contains_directory(&self, stat: &Stat) -> bool {
        self.contains_hash(self.hash_of_attributes(stat))
    }

    fn contains_hash(&self, hash: u64) -> bool {
        self.parts.get(hash as usize % LOCKS).is_some_and(|part| part.lock().contains(&hash))
    }

    /// Adds the file that an operand was copied to.
    pub(crate) fn insert_target(&self, target: &Stat) {
        let mut targets = self.targets.lock();
        targets.insert((target.dev, target.ino));
    }

    /// Returns whether an operand was copied to this file.
    pub(crate) fn has_target(&self, target: &Stat) -> bool {
        let targets = self.targets.lock();
        targets.contains(&(target.dev, target.ino))
    }

    fn hash_of_state(&self, stat: &Stat) -> u64 {
        self.hasher.hash_one((SourceState::of(stat), stat.mode & 0o170_000))
    }

    /// Returns the hash of what the removal of its entries does not change of a directory, unlike its
    /// times and size.
    fn hash_of_attributes(&self, stat: &Stat) -> u64 {
        let attributes = (stat.dev, stat.ino, stat.mode, stat.uid, stat.gid);
        self.hasher.hash_one((attributes, None::<()>))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{DIRECTORY, FILE, LINK, stat};
    use haul_sys::fs::Time;

    #[test]
    fn an_entry_is_known_only_in_the_state_that_was_copied() {
        let copied = CopiedEntries::default();
        let file = Stat { size: 3, ..stat(7, FILE) };
        copied.insert(&file);
        assert!(copied.contains(&file));
        assert!(copied.contains(&Stat { atime: Time::default(), ..file }));
        for other in [
            Stat { ino: 8, ..file },
            Stat { dev: 2, ..file },
            Stat { mode: LINK, ..file },
            Stat { size: 4, ..file },
            Stat { mtime: Time { seconds: 100, nanoseconds: 6 }, ..file },
            Stat { ctime: Time { seconds: 101, nanoseconds: 5 }, ..file },
        ] {
            assert!(!copied.contains(&other), "{other:?}");
        }
    }

    #[test]
    fn a_directory_is_known_by_its_attributes_whatever_was_removed_from_it() {
        let copied = CopiedEntries::default();
        let directory = stat(9, DIRECTORY);
        copied.insert(&directory);
        let emptied = Stat { size: 0, mtime: Time::default(), ctime: Time::default(), ..directory };
        assert!(copied.contains(&directory) && copied.contains_directory(&directory));
        assert!(!copied.contains(&emptied) && copied.contains_directory(&emptied));
        for other in [
            stat(10, DIRECTORY),
            Stat { mode: DIRECTORY ^ 0o055, ..directory },
            Stat { uid: 1, ..directory },
            Stat { gid: 1, ..directory },
        ] {
            assert!(!copied.contains_directory(&other), "{other:?}");
        }
    }
}
