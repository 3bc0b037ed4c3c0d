//! The turn of a file: which entry of the run may write to it. See [`turns`](super::turns).

use haul_sys::sync::Mutex;
use std::collections::VecDeque;
use std::collections::hash_map::Entry as Place;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haul_sys::fs::{Stat, Time};

use crate::copy::node::Node;
use crate::names::by_identity::ByIdentity;
use crate::names::by_identity::Identity;
use crate::names::known_names::SourceState;

/// The turns of a run.
#[derive(Default)]
pub(crate) struct Turns {
    may_meet: AtomicBool,
    /// Files whose turn is taken, and the entries that wait for it.
    taken: ByIdentity<VecDeque<Waiting>>,
    /// Entries that have got their turn and that no worker has taken up yet, and their number.
    ready: Mutex<Vec<(Turn, Waiting)>>,
    ready_count: AtomicUsize,
}

/// The turn of one file. The next entry gets it when this value is dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    id: Identity,
}

/// Entry that waits for its turn.
pub(super) struct Waiting {
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
    pub(super) stat: Stat,
    pub(super) described_after: Time,
    pub(super) id: Identity,
    pub(super) through_link: bool,
    pub(super) leads_links: Option<SourceState>,
    pub(super) backup: Option<CString>,
    /// The open target where another open could fail, or wait for a reader: this run made the file, with
    /// permission bits that need not allow writing, or it is no regular file.
    pub(super) fd: Option<OwnedFd>,
    /// The open source if it is no regular file: closing a FIFO would end its writer.
    pub(super) source_fd: Option<OwnedFd>,
}

impl Turns {
    /// Creates the turns of a run. `may_meet` tells whether entries may meet files that this run makes.
    pub(crate) fn new(may_meet: bool) -> Arc<Turns> {
        Arc::new(Turns { may_meet: AtomicBool::new(may_meet), ..Turns::default() })
    }

    /// Records that the run has found a directory in the target: from now on entries may meet files that the
    /// run itself makes. As long as it makes all directories, no two entries lead to one file.
    pub(crate) fn expect_meetings(&self) {
        self.may_meet.store(true, Ordering::Relaxed);
    }

    /// Returns whether entries may meet files that this run makes.
    pub(super) fn may_meet(&self) -> bool {
        self.may_meet.load(Ordering::Relaxed)
    }

    /// Takes the turn of a file for an entry. If it is taken, the entry waits in the form that a function
    /// gives it.
    pub(super) fn take<F>(
        self: &Arc<Turns>,
        id: Identity,
        entry: F,
        wait: impl FnOnce(F) -> Waiting,
    ) -> Option<(Turn, F)> {
        match self.taken.part(id).entry(id) {
            Place::Occupied(mut queue) => {
                queue.get_mut().push_back(wait(entry));
                None
            }
            Place::Vacant(free) => {
                free.insert(VecDeque::new());
                Some((Turn { turns: Arc::clone(self), id }, entry))
            }
        }
    }

    /// Returns an entry that has got its turn, if there is one that no worker has taken up.
    pub(super) fn next(&self) -> Option<(Turn, Waiting)> {
        if self.ready_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let next = self.ready.lock().pop()?;
        self.ready_count.fetch_sub(1, Ordering::AcqRel);
        Some(next)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut part = self.turns.taken.part(self.id);
        let Place::Occupied(mut queue) = part.entry(self.id) else { return };
        let Some(waiting) = queue.get_mut().pop_front() else {
            queue.remove();
            return;
        };
        drop(part);
        let turn = Turn { turns: Arc::clone(&self.turns), id: self.id };
        let mut ready = self.turns.ready.lock();
        ready.push((turn, waiting));
        self.turns.ready_count.fetch_add(1, Ordering::AcqRel);
    }
}
