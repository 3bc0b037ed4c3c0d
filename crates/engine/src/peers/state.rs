//! State of a run by several processes: which process this is, and which units of others it has
//! completed.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// What the process that had a unit tells the one that found it, in a form that only the operation
/// knows; empty if there is nothing to tell.
pub type Answer = Vec<u8>;

/// Which process has to finish a directory, if several carry out the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// This one.
    No,
    /// Another one. This process has opened the directory on the way to a unit.
    Above,
    /// Another one. This process has a unit in the directory, with this token.
    Unit(Token),
    /// Another one. This process has a part of a file in the directory, with this token, and makes no name
    /// there.
    Part(Token),
}

/// State of a run that this process carries out with others.
pub(crate) struct PeerState {
    ranks: Ranks,
    completed: Mutex<Vec<(Token, Answer)>>,
    /// Answers of units that are not complete.
    answers: Mutex<HashMap<Token, Answer>>,
    /// Number of parts of files that were received and are not open yet, and of those that are open.
    unopened_parts: AtomicUsize,
    open_parts: AtomicUsize,
}

impl PeerState {
    pub(crate) fn new(ranks: Ranks) -> PeerState {
        PeerState {
            ranks,
            completed: Mutex::default(),
            answers: Mutex::default(),
            unopened_parts: AtomicUsize::new(0),
            open_parts: AtomicUsize::new(0),
        }
    }

    /// Records that a part of another process's file has arrived.
    pub(crate) fn part_received(&self) {
        self.unopened_parts.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a received part is open, or could not be opened.
    pub(crate) fn part_opened(&self, is_open: bool) {
        if is_open {
            self.open_parts.fetch_add(1, Ordering::Relaxed);
        }
        self.unopened_parts.fetch_sub(1, Ordering::Release);
    }

    /// Records that this process moves nothing of an open part any more.
    pub(crate) fn part_ended(&self) {
        self.open_parts.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns how many parts were received and are not open yet, and how many are open.
    pub(crate) fn received_parts(&self) -> (usize, usize) {
        // In this order: a part is open before it is not unopened any more.
        let unopened = self.unopened_parts.load(Ordering::Acquire);
        (unopened, self.open_parts.load(Ordering::Relaxed))
    }

    /// Returns the process that makes all names of a file, if it is another one.
    pub(crate) fn other_owner(&self, ino: u64) -> Option<usize> {
        self.ranks.other_owner(ino)
    }

    /// Returns the number of processes.
    pub(crate) const fn count(&self) -> usize {
        self.ranks.count
    }

    /// Keeps the answer of a unit until the unit is complete.
    pub(crate) fn answer(&self, token: Token, answer: Answer) {
        self.answers.lock().insert(token, answer);
    }

    /// Takes the answer of a unit; an empty one if there is none.
    pub(crate) fn take_answer(&self, token: Token) -> Answer {
        let mut answers = self.answers.lock();
        answers.remove(&token).unwrap_or_default()
    }

    /// Records that a unit is complete with everything below it.
    pub(crate) fn complete(&self, token: Token, answer: Answer) {
        self.completed.lock().push((token, answer));
    }

    pub(crate) fn take_completed(&self) -> Vec<(Token, Answer)> {
        std::mem::take(&mut *self.completed.lock())
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
