//! Files of the source whose copies lack an attribute: the run has reported each, and records none.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::Stat;

use crate::names::by_identity::{Identity, identity};

/// Maximum number of files to be remembered. Beyond it, every file counts as one that lacks something: the
/// next run copies more than it has to, and the memory is bounded.
const MOST: usize = 1 << 16;

/// Identities of such files.
#[derive(Default)]
pub(super) struct Lacking {
    files: Mutex<HashSet<Identity>>,
    /// Whether there are any, so that the usual run takes no lock.
    has_any: AtomicBool,
}

impl Lacking {
    pub(super) fn insert(&self, source: &Stat) {
        let mut files = self.files.lock();
        if files.len() < MOST {
            files.insert(identity(source));
        }
        // A file is inserted before it gets any record. Another name of it gets one later than the name
        // that was inserted, behind the lock of the link map.
        self.has_any.store(true, Ordering::Release);
    }

    pub(super) fn contains(&self, source: &Stat) -> bool {
        self.has_any.load(Ordering::Acquire) && {
            let files = self.files.lock();
            files.len() >= MOST || files.contains(&identity(source))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{FILE, stat};

    #[test]
    fn what_cannot_be_remembered_counts_as_lacking() {
        let lacking = Lacking::default();
        assert!(!lacking.contains(&stat(1, FILE)));
        for ino in 0..MOST as u64 - 1 {
            lacking.insert(&stat(ino, FILE));
        }
        let (known, other) = (stat(1, FILE), stat(1 << 40, FILE));
        assert!(lacking.contains(&known) && !lacking.contains(&other));
        lacking.insert(&stat(1 << 41, FILE));
        assert!(lacking.contains(&known) && lacking.contains(&other));
    }
}
