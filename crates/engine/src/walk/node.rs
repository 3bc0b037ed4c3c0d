//! A directory of the run: its place in the tree, and what its children still owe it.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::Pair;
use haul_sys::fs::{Follow, Stat};

use super::handles::Handles;
use crate::journal::Position;
use crate::metadata::DirectoryAttributes;

/// A file's identity: device and inode.
pub(crate) type Identity = (u64, u64);

pub(crate) const fn identity(stat: &Stat) -> Identity {
    (stat.dev, stat.ino)
}

/// Whether this run made a target directory, so that nothing can be in it that it did not put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Made,
    Found,
}

/// One directory that is being copied into another. The first one of a run stands for the list of
/// operands: its children are what the person named.
pub(crate) struct Node {
    pub(crate) parent: Option<Arc<Node>>,
    /// The name in the parent's source; for an operand the path as it was given.
    pub(crate) source_name: CString,
    /// The name in the parent's target, where it differs.
    pub(crate) target_name: Option<CString>,
    pub(crate) source_id: Identity,
    pub(crate) target_id: Identity,
    /// The device of the operand that this lies below.
    pub(crate) root_dev: u64,
    /// Whether the source name may be a link that is followed.
    pub(crate) through_link: bool,
    /// Whether the target name is a link to a directory that was accepted as one.
    pub(crate) target_through_link: bool,
    /// Whether what is made here gets an access-control list from the directory.
    pub(crate) inherits_acl: bool,
    pub(crate) pair: Arc<Pair>,
    /// Where it is in the tree, as the journal tells it; nothing without one.
    pub(crate) position: Position,
    /// Whether its entries are what a person named.
    pub(crate) lists_operands: bool,
    /// What is applied when the last child is done.
    pub(crate) attributes: DirectoryAttributes,
    /// Children, tasks and shared files that are not done yet.
    pub(crate) pending: AtomicUsize,
    pub(crate) handles: Mutex<Option<Arc<Handles>>>,
}

impl Node {
    pub(crate) fn target_name(&self) -> &CStr {
        self.target_name.as_deref().unwrap_or(&self.source_name)
    }

    /// Tells how the target is opened again: a link is followed only where it was accepted as a
    /// directory before, and then the identity is checked all the same.
    pub(crate) fn target_follow(&self) -> Follow {
        if self.target_through_link { Follow::Yes } else { Follow::No }
    }

    /// Returns the descriptors if they are open.
    pub(crate) fn cached(&self) -> Option<Arc<Handles>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds something that the directory waits for. Only while it waits for something already.
    pub(crate) fn owe(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells whether an ancestor (or the node itself) is this source directory.
    pub(crate) fn is_below(self: &Arc<Node>, source: Identity) -> bool {
        let mut node = self;
        loop {
            let Some(parent) = &node.parent else { return false };
            if node.source_id == source {
                return true;
            }
            node = parent;
        }
    }
}

/// A chain of a hundred thousand parents must not be dropped by recursion.
impl Drop for Node {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}
