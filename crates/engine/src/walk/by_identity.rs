//! A map with files as keys, for all workers of a run.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::node::Identity;

/// Number of parts of the map with a lock each, so that workers in different directories rarely wait for
/// each other.
const LOCKS: usize = 16;

/// Map from files to what is known of them.
pub(crate) struct ByIdentity<V> {
    parts: [Mutex<HashMap<Identity, V>>; LOCKS],
}

impl<V> Default for ByIdentity<V> {
    fn default() -> ByIdentity<V> {
        ByIdentity { parts: Default::default() }
    }
}

impl<V> ByIdentity<V> {
    /// Locks the part of the map that a file is in. Blocks while another worker has it.
    pub(crate) fn part(&self, id: Identity) -> MutexGuard<'_, HashMap<Identity, V>> {
        // The low bits of an inode number vary most.
        let index = usize::try_from(id.1 % LOCKS as u64).unwrap_or(0);
        locked(self.parts.get(index).unwrap_or(&self.parts[0]))
    }

    /// Calls a function for each part, locked.
    pub(crate) fn for_each_part(&self, mut each: impl FnMut(&HashMap<Identity, V>)) {
        self.parts.iter().for_each(|part| each(&locked(part)));
    }
}

fn locked<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
