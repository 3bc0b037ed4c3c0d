//! A directory of a walk: its place in the tree, and the work that it waits for.
//!
//! Nodes form a chain from a directory to the root of the walk. A node counts its unfinished
//! children and the workers in it; the worker that brings the count to zero finishes the directory.

use haul_sys::sync::Mutex;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haul_sys::Result;

use crate::open::Open;

/// Data that an operation keeps for each directory, and how to open the directory again.
pub trait Directory: Send + Sync + Sized {
    /// Open descriptors: one, or one on each side of a copy.
    type Handle: Send + Sync;

    /// Returns the descriptor from which entries are read. The list of operands needs no readable
    /// one.
    fn entries(handle: &Self::Handle) -> BorrowedFd<'_>;

    /// Opens the directory again from its parent.
    ///
    /// Fails with `ESTALE` unless it is the same directory as before, by device and inode number:
    /// another process may have moved or replaced the name meanwhile.
    fn reopen(&self, parent: &Self::Handle) -> Result<Self::Handle>;

    /// Opens the directory again from one of its children, by `..`. Fails as
    /// [`reopen`](Directory::reopen) does.
    fn reopen_from(&self, child: &Self::Handle) -> Result<Self::Handle>;

    /// Returns whether each call is a request to another machine or another process.
    fn is_remote(&self) -> bool;
}

/// One directory of a walk. The first one represents the list of operands.
pub struct Node<D: Directory> {
    /// Directory that contains this one; `None` for the list of operands.
    pub parent: Option<Arc<Node<D>>>,
    /// Number of children, workers and shared files that are not finished.
    pending: AtomicUsize,
    open: Mutex<Option<Arc<Open<D::Handle>>>>,
    directory: D,
}

impl<D: Directory> Deref for Node<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.directory
    }
}

impl<D: Directory> Node<D> {
    /// Creates a node that waits for one worker.
    #[must_use]
    pub fn new(parent: Option<Arc<Node<D>>>, directory: D) -> Node<D> {
        Node { parent, pending: AtomicUsize::new(1), open: Mutex::new(None), directory }
    }

    /// Returns whether this is the list of operands.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// Adds one unit of work that the directory waits for. Allowed only while the directory waits
    /// for another one.
    pub fn owe(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the directory waits for more work than the caller's.
    #[must_use]
    pub fn has_more_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 1
    }

    /// Returns the handle if the directory is open.
    #[must_use]
    pub fn cached(&self) -> Option<Arc<Open<D::Handle>>> {
        self.open.lock().clone()
    }

    pub(crate) fn set_open(&self, handle: Option<Arc<Open<D::Handle>>>) {
        *self.open.lock() = handle;
    }

    /// Removes one unit of work that the directory waits for. Returns whether it was the last.
    pub(crate) fn settle_one(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Makes a finished directory wait for one worker again.
    pub(crate) fn start_over(&self) {
        self.pending.store(1, Ordering::Relaxed);
    }
}

/// Drops ancestors in a loop, because a recursive drop of a hundred thousand parents would
/// overflow the stack.
impl<D: Directory> Drop for Node<D> {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}
