//! Open directories: a cache beside the chain of nodes, within the descriptor budget.
//!
//! Beyond the budget the cache closes the directory that was opened first, which a depth-first
//! walk needs last. The cache opens a directory again from a child by `..`, or from the nearest
//! open ancestor by its names. It must be the same directory, by device and inode number.

use haul_sys::sync::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use haul_sys::{Call, CallError, Errno, Result};

use crate::node::{Directory, Node};
use crate::open::Open;

/// Open directories of a walk.
pub struct OpenDirectories<D: Directory> {
    most: usize,
    /// Nodes in the order in which they were opened.
    nodes: Mutex<VecDeque<Weak<Node<D>>>>,
    generation: AtomicU64,
    /// Number of directories that are open, including those that a worker is using.
    live: Arc<AtomicUsize>,
}

impl<D: Directory> OpenDirectories<D> {
    /// Creates a cache that keeps up to `most` directories open that no worker is using.
    #[must_use]
    pub fn new(most: usize) -> OpenDirectories<D> {
        OpenDirectories {
            most,
            nodes: Mutex::new(VecDeque::new()),
            generation: AtomicU64::new(1),
            live: Arc::default(),
        }
    }

    /// Wraps descriptors that were just opened.
    pub fn adopt(&self, handle: D::Handle) -> Arc<Open<D::Handle>> {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        Arc::new(Open::new(handle, generation, Arc::clone(&self.live)))
    }

    /// Returns whether so many directories are open that a waiting one should be closed.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        self.live.load(Ordering::Relaxed) > self.most
    }

    /// Keeps a node's handle, and closes the oldest handles beyond the budget.
    pub fn keep(&self, node: &Arc<Node<D>>, handle: &Arc<Open<D::Handle>>) {
        node.set_open(Some(Arc::clone(handle)));
        let mut nodes = self.nodes.lock();
        // In a depth-first walk the finished directories are the newest.
        while nodes.back().is_some_and(|node| node.strong_count() == 0) {
            nodes.pop_back();
        }
        nodes.push_back(Arc::downgrade(node));
        if nodes.len() <= self.most {
            return;
        }
        nodes.retain(|node| node.upgrade().is_some_and(|node| node.cached().is_some()));
        while nodes.len() > self.most {
            let Some(oldest) = nodes.pop_front() else { return };
            if let Some(node) = oldest.upgrade() {
                close(&node);
            }
        }
    }

    /// Closes a finished directory.
    pub fn forget(&self, node: &Node<D>) {
        close(node);
    }

    /// Makes a call that needs a descriptor. If there is none left (`EMFILE`, `ENFILE`), closes
    /// every directory that no worker is using, and makes the call once more.
    pub fn with_descriptors<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        match call() {
            Err(error) if matches!(error.errno, Errno::MFILE | Errno::NFILE) => {
                let mut nodes = self.nodes.lock();
                nodes.drain(..).filter_map(|node| node.upgrade()).for_each(|node| close(&node));
                drop(nodes);
                call()
            }
            answer => answer,
        }
    }

    /// Returns a node's handle, and opens the directory again if it was closed.
    ///
    /// Fails with the error of the open, or with `ESTALE` if the name belongs to another
    /// directory.
    pub fn of(&self, node: &Arc<Node<D>>) -> Result<Arc<Open<D::Handle>>> {
        if let Some(handle) = node.cached() {
            return Ok(handle);
        }
        let mut closed = vec![node];
        let mut at = node;
        let mut handle = loop {
            let parent = at.parent.as_ref();
            let parent = parent.ok_or(CallError::new(Call::Openat, Errno::STALE))?;
            if let Some(handle) = parent.cached() {
                break handle;
            }
            closed.push(parent);
            at = parent;
        };
        for node in closed.into_iter().rev() {
            handle = self.adopt(self.with_descriptors(|| node.reopen(&handle))?);
        }
        self.keep(node, &handle);
        Ok(handle)
    }

    /// Opens a node's closed parent by `..` of the node, at the same cost for any depth. Returns
    /// `None` if the node is closed as well, or `..` does not lead to its parent.
    pub fn climb(&self, node: &Node<D>, parent: &Arc<Node<D>>) -> Option<Arc<Open<D::Handle>>> {
        if parent.is_root() || parent.cached().is_some() {
            return None;
        }
        let own = node.cached()?;
        let handle = self.with_descriptors(|| parent.reopen_from(&own)).ok()?;
        let handle = self.adopt(handle);
        self.keep(parent, &handle);
        Some(handle)
    }

    /// Returns the handle of a node's parent, and opens it again if it was closed.
    ///
    /// Fails as [`of`](OpenDirectories::of) does.
    pub fn of_parent(&self, node: &Node<D>, parent: &Arc<Node<D>>) -> Result<Arc<Open<D::Handle>>> {
        self.climb(node, parent).map_or_else(|| self.of(parent), Ok)
    }
}

/// Closes a directory, unless it is the root, which could not be opened again.
fn close<D: Directory>(node: &Node<D>) {
    if !node.is_root() {
        node.set_open(None);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use haul_sys::fs::{CWD, Follow, open_directory};

    use super::*;

    struct Plain;

    impl Directory for Plain {
        type Handle = OwnedFd;

        fn entries(handle: &OwnedFd) -> BorrowedFd<'_> {
            handle.as_fd()
        }

        fn reopen(&self, parent: &OwnedFd) -> Result<OwnedFd> {
            open_directory(parent, c".", Follow::No)
        }

        fn reopen_from(&self, child: &OwnedFd) -> Result<OwnedFd> {
            open_directory(child, c".", Follow::No)
        }

        fn is_remote(&self) -> bool {
            false
        }
    }

    type Nodes = Vec<Arc<Node<Plain>>>;

    fn chain(cache: &OpenDirectories<Plain>, count: usize) -> Nodes {
        let mut nodes: Nodes = vec![Arc::new(Node::new(None, Plain))];
        let here = || open_directory(CWD, c".", Follow::No);
        cache.keep(&nodes[0], &cache.adopt(here().unwrap()));
        for _ in 0..count {
            let node = Arc::new(Node::new(nodes.last().cloned(), Plain));
            cache.keep(&node, &cache.adopt(here().unwrap()));
            nodes.push(node);
        }
        nodes
    }

    fn open(nodes: &Nodes) -> Vec<bool> {
        nodes.iter().map(|node| node.cached().is_some()).collect()
    }

    #[test]
    fn the_oldest_are_closed_beyond_the_budget_and_the_root_never() {
        let cache = OpenDirectories::new(2);
        let nodes = chain(&cache, 4);
        assert_eq!(open(&nodes), [true, false, false, true, true]);
    }

    #[test]
    fn a_closed_directory_is_opened_again_from_its_nearest_ancestor() {
        let cache = OpenDirectories::new(2);
        let nodes = chain(&cache, 4);
        assert!(cache.of(&nodes[2]).is_ok());
        assert_eq!(open(&nodes), [true, false, true, false, true]);
    }

    #[test]
    fn without_descriptors_everything_is_closed_and_the_call_made_once_more() {
        let cache = OpenDirectories::new(9);
        let nodes = chain(&cache, 2);
        let mut calls = 0;
        let answer: Result<()> = cache.with_descriptors(|| {
            calls += 1;
            Err(CallError::new(Call::Openat, Errno::MFILE))
        });
        assert!(answer.is_err());
        assert_eq!((calls, open(&nodes)), (2, vec![true, false, false]));
    }
}
