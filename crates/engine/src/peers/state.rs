//! State of a copy by several processes: which process this is, what it must send, and which units
//! of others it has completed.

use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::walk::node::Node;

/// Number that the caller gave to a unit of work; [`ROOT`] is the copy as a whole.
pub type Token = u64;

/// Token of the operands, which the first rank has from the start.
pub const ROOT: Token = 0;

/// Number of a process among all that take part in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Number of this process, from 0. Process 0 resolves the operands.
    pub own: usize,
    /// Number of processes, at least 1.
    pub count: usize,
}

/// Name of a file with several names, which the process that owns the file's inode number copies.
pub(crate) struct Routed {
    pub(super) to: usize,
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
}

/// State of a copy that this process carries out with others.
pub(crate) struct PeerState {
    ranks: Ranks,
    routed: Mutex<Vec<Routed>>,
    completed: Mutex<Vec<Token>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PeerState {
    pub(crate) fn new(ranks: Ranks) -> PeerState {
        PeerState { ranks, routed: Mutex::default(), completed: Mutex::default() }
    }

    /// Returns the process that makes all names of a file, if it is another one. Device numbers
    /// differ between machines, so the inode number alone decides; the owner distinguishes devices.
    pub(crate) fn other_owner(&self, ino: u64) -> Option<usize> {
        let mixed = (ino.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32;
        let owner = usize::try_from(mixed).unwrap_or(0) % self.ranks.count;
        (owner != self.ranks.own).then_some(owner)
    }

    /// Queues a name for another process. The node waits for it.
    pub(crate) fn route(&self, to: usize, node: &Arc<Node>, source: CString, target: CString) {
        node.owe();
        lock(&self.routed).push(Routed { to, node: Arc::clone(node), source, target });
    }

    pub(super) fn take_routed(&self) -> Vec<Routed> {
        std::mem::take(&mut *lock(&self.routed))
    }

    /// Records that a unit is complete with everything below it.
    pub(crate) fn complete(&self, token: Token) {
        lock(&self.completed).push(token);
    }

    pub(super) fn take_completed(&self) -> Vec<Token> {
        std::mem::take(&mut *lock(&self.completed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_inode_has_one_owner_and_all_ranks_own_some() {
        let count = 4;
        let mut owned = vec![0; count];
        for ino in 1000..2000 {
            let owners: Vec<usize> = (0..count)
                .filter(|own| PeerState::new(Ranks { own: *own, count }).other_owner(ino).is_none())
                .collect();
            assert_eq!(owners.len(), 1, "inode {ino} is owned by {owners:?}");
            owned[owners[0]] += 1;
        }
        assert!(owned.iter().all(|owned| *owned > 100), "{owned:?}");
    }
}
