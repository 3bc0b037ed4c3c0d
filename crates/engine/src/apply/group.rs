//! Complete files that wait for a flush, and the file systems that a run flushes.

use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::quirk::GroupSync;
use haul_io::{Moved, Pair};
use haul_sys::CallError;
use haul_sys::fs::{Follow, Stat, open_directory, syncfs};

use super::item::Target;
use crate::entry::Entry;
use crate::walk::node::Node;

/// A complete file that waits.
pub(super) struct Held {
    pub(super) node: Arc<Node>,
    /// The file systems of its two sides; the target's may not be the directory's.
    pub(super) pair: Arc<Pair>,
    pub(super) source_name: CString,
    pub(super) target_name: CString,
    pub(super) stat: Stat,
    pub(super) target: Target,
    pub(super) moved: Moved,
    /// Its source, where parts of it may have to be copied again.
    pub(super) source: Option<OwnedFd>,
    /// The digest of its bytes, once it is known.
    pub(super) digest: Option<Vec<u8>>,
}

impl Held {
    pub(super) fn entry(&self) -> Entry<'_> {
        let (source, target) = (&*self.source_name, &*self.target_name);
        Entry { node: &self.node, source, target, rest: None }
    }

    pub(super) fn is_sole_grouped(&self) -> bool {
        self.pair.target.group_sync == GroupSync::Whole
    }
}

#[derive(Default)]
pub(super) struct Waiting {
    pub(super) files: Vec<Held>,
    pub(super) bytes: u64,
}

/// Directories whose names are to be secured, as long as they are few.
#[derive(Default)]
pub(super) struct Names {
    pub(super) directories: Vec<Arc<Node>>,
    pub(super) many: bool,
}

/// A file system that is flushed as a whole.
pub(super) struct Anchor {
    pub(super) dev: u64,
    /// A descriptor that was open before the first byte was written, so that `syncfs` reports to it
    /// every write error since then; each of them once.
    pub(super) fd: OwnedFd,
    /// The first failure. It stays for the whole run: `syncfs` has told it once and answers 0 from
    /// then on, though the bytes of any group may be those that were lost.
    pub(super) failed: Mutex<Option<CallError>>,
}

impl Anchor {
    /// Flushes everything that was written to the file system. One flush at a time, so that an error
    /// which one caller is told of holds for all callers that come after it.
    pub(super) fn flush(&self) -> haul_sys::Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = *failed {
            return Err(error);
        }
        let answer = syncfs(&self.fd);
        *failed = answer.err();
        answer
    }
}

/// What a run holds, and what it has to secure at its end.
#[derive(Default)]
pub(crate) struct CommitGroup {
    pub(super) waiting: Mutex<Waiting>,
    /// The file systems that flushes go to.
    pub(super) anchors: Mutex<Vec<Arc<Anchor>>>,
    pub(super) names: Mutex<Names>,
}

impl CommitGroup {
    /// Opens the way to a file system's flush before anything is written that it is to secure.
    pub(crate) fn anchor(&self, node: &Node, target: BorrowedFd<'_>) {
        let dev = node.pair.target_dev;
        let mut anchors = self.anchors.lock().unwrap_or_else(PoisonError::into_inner);
        if anchors.iter().any(|anchor| anchor.dev == dev) {
            return;
        }
        // Without one, each file is flushed for itself.
        if let Ok(fd) = open_directory(target, c".", Follow::No) {
            anchors.push(Arc::new(Anchor { dev, fd, failed: Mutex::new(None) }));
        }
    }

    pub(super) fn anchor_of(&self, dev: u64) -> Option<Arc<Anchor>> {
        let anchors = self.anchors.lock().unwrap_or_else(PoisonError::into_inner);
        anchors.iter().find(|anchor| anchor.dev == dev).cloned()
    }

    /// Flushes everything that was written to a file system; returns whether that proves that all of
    /// it is on stable storage.
    pub(super) fn is_flushed(&self, dev: u64) -> bool {
        self.anchor_of(dev).is_some_and(|anchor| anchor.flush().is_ok())
    }
}
