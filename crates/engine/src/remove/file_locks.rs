//! Locks that let one worker at a time remove a name of a file.

use haul_sys::sync::{Mutex, MutexGuard};

use haul_sys::fs::Stat;

/// Number of locks: with many, workers that remove different files rarely wait for each other.
const LOCKS: usize = 64;

/// Locks for files, chosen by inode number.
pub(super) struct FileLocks {
    locks: [Mutex<()>; LOCKS],
}

impl Default for FileLocks {
    fn default() -> FileLocks {
        FileLocks { locks: std::array::from_fn(|_| Mutex::new(())) }
    }
}

impl FileLocks {
    /// Blocks until no other worker removes a name of this file.
    pub(super) fn lock(&self, stat: &Stat) -> Option<MutexGuard<'_, ()>> {
        let lock = self.locks.get(stat.ino as usize % LOCKS)?;
        Some(lock.lock())
    }
}
