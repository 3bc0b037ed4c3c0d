//! A map with files as keys, and locks for files, for all workers of a run.

use haul_sys::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::Hash;

pub(crate) use haul_tree::{Identity, identity};

use crate::names::known_names::SourceState;

/// Number of parts of the map with a lock each, so that workers in different directories rarely wait for
/// each other.
const LOCKS: usize = 16;

/// What identifies a file in a map: its inode, or its inode in one state.
pub(crate) trait FileKey: Copy + Eq + Hash {
    /// Returns the inode number.
    fn ino(self) -> u64;
}

impl FileKey for Identity {
    fn ino(self) -> u64 {
        self.1
    }
}

impl FileKey for SourceState {
    fn ino(self) -> u64 {
        self.file.ino
    }
}

/// Map from files to what is known of them.
pub(crate) struct ByIdentity<V, K = Identity> {
    parts: [Mutex<HashMap<K, V>>; LOCKS],
}

impl<V, K> Default for ByIdentity<V, K> {
    fn default() -> ByIdentity<V, K> {
        ByIdentity { parts: Default::default() }
    }
}

impl<V, K: FileKey> ByIdentity<V, K> {
    /// Locks the part of the map that a file is in. Blocks while another worker has it.
    pub(crate) fn part(&self, id: K) -> MutexGuard<'_, HashMap<K, V>> {
        self.parts[place(id.ino(), LOCKS)].lock()
    }

    /// Calls a function for each part, locked.
    pub(crate) fn for_each_part(&self, mut each: impl FnMut(&HashMap<K, V>)) {
        self.parts.iter().for_each(|part| each(&part.lock()));
    }
}

/// Locks for files or directories. Several share one.
pub(crate) struct Locks(Vec<Mutex<()>>);

impl Locks {
    /// Makes so many locks, at least one.
    pub(crate) fn new(count: usize) -> Locks {
        Locks((0..count.max(1)).map(|_| Mutex::new(())).collect())
    }

    /// Locks the file with an inode number. Blocks while another worker has it.
    pub(crate) fn of(&self, ino: u64) -> MutexGuard<'_, ()> {
        self.0[place(ino, self.0.len())].lock()
    }
}

/// Returns the place of an inode among so many: its low bits vary most.
fn place(ino: u64, count: usize) -> usize {
    ino as usize % count
}
