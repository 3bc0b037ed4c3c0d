//! Locks on the directories of the target: one worker at a time creates names in each.
//!
//! The kernel admits one at a time, and waiting here costs less than spinning there. A directory that a link or a
//! mount makes a second one of the target has one lock, so that no other worker gives a name away between the
//! decision about it and the call that makes it.

use haul_sys::sync::{Mutex, MutexGuard};

use crate::names::by_identity::Identity;

/// Number of locks. Directories share them; with 64 workers, one in sixteen waits for a worker of another one.
const LOCKS: usize = 1024;

/// The locks of a run.
pub(crate) struct CreateLocks(Vec<Mutex<()>>);

impl CreateLocks {
    pub(crate) fn new() -> CreateLocks {
        CreateLocks((0..LOCKS).map(|_| Mutex::new(())).collect())
    }

    /// Locks a directory. Blocks while another worker creates names in it.
    pub(crate) fn of(&self, directory: Identity) -> MutexGuard<'_, ()> {
        // The low bits of an inode number vary most.
        let index = directory.1 as usize % LOCKS;
        self.0[index].lock()
    }
}
