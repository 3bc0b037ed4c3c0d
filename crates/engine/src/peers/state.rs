//! State of a run by several processes: which process this is, and which units of others it has
//! completed.

use std::sync::{Mutex, PoisonError};

/// Number that the caller gave to a unit of work; [`ROOT`] is the run as a whole.
pub type Token = u64;

/// Token of the operands, which the first rank has from the start.
pub const ROOT: Token = 0;

/// Number of a process among all that take part in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Number of this process, from 0. Process 0 resolves the operands.
    pub own: usize,
    /// Number of processes, at least 1.
    pub count: usize,
}

impl Ranks {
    /// Returns the process that handles all names of a file, if it is another one. Device numbers differ
    /// between machines, so the inode number alone decides; the owner distinguishes devices.
    #[must_use]
    pub fn other_owner(self, ino: u64) -> Option<usize> {
        let mixed = (ino.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 32;
        let owner = usize::try_from(mixed).unwrap_or(0) % self.count.max(1);
        (owner != self.own).then_some(owner)
    }
}

/// Whether an entry stays that a removal reported. Then the directories above it stay without a
/// report, also where another process has them. A copy keeps nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing stays.
    Nothing,
    /// An entry stays.
    Entries,
}

/// Which process has to finish a directory, if several carry out the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// This one.
    No,
    /// Another one. This process has opened the directory on the way to a unit.
    Above,
    /// Another one. This process has a unit in the directory, with this token.
    Unit(Token),
}

/// State of a run that this process carries out with others.
pub(crate) struct PeerState {
    ranks: Ranks,
    completed: Mutex<Vec<(Token, Kept)>>,
}

impl PeerState {
    pub(crate) fn new(ranks: Ranks) -> PeerState {
        PeerState { ranks, completed: Mutex::default() }
    }

    /// Returns the process that makes all names of a file, if it is another one.
    pub(crate) fn other_owner(&self, ino: u64) -> Option<usize> {
        self.ranks.other_owner(ino)
    }

    /// Records that a unit is complete with everything below it.
    pub(crate) fn complete(&self, token: Token, kept: Kept) {
        self.completed.lock().unwrap_or_else(PoisonError::into_inner).push((token, kept));
    }

    pub(super) fn take_completed(&self) -> Vec<(Token, Kept)> {
        std::mem::take(&mut *self.completed.lock().unwrap_or_else(PoisonError::into_inner))
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
                .filter(|own| Ranks { own: *own, count }.other_owner(ino).is_none())
                .collect();
            assert_eq!(owners.len(), 1, "inode {ino} is owned by {owners:?}");
            owned[owners[0]] += 1;
        }
        assert!(owned.iter().all(|owned| *owned > 100), "{owned:?}");
    }
}
