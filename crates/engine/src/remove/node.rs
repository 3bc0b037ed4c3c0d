//! A directory that is being removed: its place in the tree, and what its children still owe it.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::delete_profile::DeleteProfile;
use super::handles::Handle;
use crate::walk::node::Identity;

/// Where a directory is: its device and, where that was asked for, its mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dev: u64,
    pub(super) mount: Option<u64>,
}

/// One directory. The first one of a run stands for the list of operands: it has no parent, its
/// children are what the person named, and it is never removed itself.
pub(super) struct Node {
    pub(super) parent: Option<Arc<Node>>,
    /// The name in the parent; for an operand the path as it was given.
    pub(super) name: CString,
    pub(super) id: Identity,
    /// Where the operand is that this lies below.
    pub(super) top: Place,
    pub(super) delete_profile: &'static DeleteProfile,
    /// Children and workers that are not done yet.
    pub(super) pending: AtomicUsize,
    /// Something in it stays, which was told already; so the directory stays without a word.
    kept: AtomicBool,
    /// How often it was read from the beginning because it was not empty at the end.
    pub(super) passes: AtomicU32,
    /// Whether anything was removed since it was read from the beginning.
    pub(super) progress: AtomicBool,
    pub(super) handle: Mutex<Option<Arc<Handle>>>,
}

impl Node {
    /// A directory below `parent` that one worker begins to work on.
    pub(super) fn new(
        parent: Arc<Node>,
        name: CString,
        id: Identity,
        (top, delete_profile): (Place, &'static DeleteProfile),
    ) -> Node {
        Node::make(Some(parent), name, id, (top, delete_profile))
    }

    /// The list of operands.
    pub(super) fn operands() -> Node {
        let nowhere = Place { dev: 0, mount: None };
        Node::make(None, CString::default(), (0, 0), (nowhere, &super::delete_profile::PLAIN))
    }

    fn make(
        parent: Option<Arc<Node>>,
        name: CString,
        id: Identity,
        (top, delete_profile): (Place, &'static DeleteProfile),
    ) -> Node {
        Node {
            parent,
            name,
            id,
            top,
            delete_profile,
            pending: AtomicUsize::new(1),
            kept: AtomicBool::new(false),
            passes: AtomicU32::new(0),
            progress: AtomicBool::new(false),
            handle: Mutex::new(None),
        }
    }

    /// Tells whether its entries are what a person named.
    pub(super) fn lists_operands(&self) -> bool {
        self.parent.is_none()
    }

    /// Adds something that the directory waits for. Only while it waits for something already.
    pub(super) fn owe(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells whether something in it stays.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Remembers that something in it stays, and so does everything above.
    pub(super) fn keep(&self) {
        let mut at = Some(self);
        while let Some(node) = at {
            if node.kept.swap(true, Ordering::Relaxed) {
                return;
            }
            at = node.parent.as_deref();
        }
    }

    /// Returns the descriptor if it is open.
    pub(super) fn cached(&self) -> Option<Arc<Handle>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the path of an entry, as a person would type it.
    pub(super) fn path_of(&self, name: &CStr) -> Vec<u8> {
        let mut names = vec![name.to_bytes()];
        let mut at = Some(self);
        while let Some(node) = at {
            names.push(node.name.to_bytes());
            at = node.parent.as_deref();
        }
        names.reverse();
        crate::walk::path::join(&names)
    }

    /// Returns its own path.
    pub(super) fn path(&self) -> Vec<u8> {
        match self.parent.as_deref() {
            Some(parent) => parent.path_of(&self.name),
            None => Vec::new(),
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
