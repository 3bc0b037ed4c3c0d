//! Open directories, a budgeted cache beside the chain of nodes.
//!
//! The budget evicts the directory that was opened first, which in a depth-first walk is the one
//! that is needed last. A directory that is needed again is found from a child by `..`, or from
//! the nearest open ancestor by its names, and has to be the one that it was, by device and inode:
//! whoever moved or replaced it meanwhile gets an error instead of somebody else's files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use haul_sys::fs::{Follow, fstat, open_directory};
use haul_sys::{Call, CallError, Errno};

use super::node::{Identity, Node, identity};
use super::opened::{Holds, Opened};
use super::path::Side;

/// A directory of the source and its directory of the target, open.
pub(crate) struct Handles {
    source: OwnedFd,
    target: OwnedFd,
    /// How many there are, this one included.
    live: Arc<AtomicUsize>,
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Handles {
    fn new(source: OwnedFd, target: OwnedFd, live: &Arc<AtomicUsize>) -> Handles {
        live.fetch_add(1, Ordering::Relaxed);
        Handles { source, target, live: Arc::clone(live) }
    }

    pub(crate) fn source(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }

    pub(crate) fn target(&self) -> BorrowedFd<'_> {
        self.target.as_fd()
    }
}

/// The directories that are open.
pub(crate) struct Cache {
    opened: Opened<Node>,
    /// How many directories are open, with those that somebody is working in.
    live: Arc<AtomicUsize>,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Cache {
        Cache { opened: Opened::new(most), live: Arc::default() }
    }

    /// Pairs the descriptors of a directory's two sides.
    pub(crate) fn pair(&self, source: OwnedFd, target: OwnedFd) -> Handles {
        Handles::new(source, target, &self.live)
    }

    /// Tells whether so many directories are open that one that waits should not be.
    pub(crate) fn is_tight(&self) -> bool {
        self.live.load(Ordering::Relaxed) > self.opened.most()
    }

    /// Keeps a node's handles and closes the oldest ones beyond the budget.
    pub(crate) fn keep(&self, node: &Arc<Node>, handles: &Arc<Handles>) {
        *node.handles.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(handles));
        self.opened.add(node);
    }

    /// Closes every directory that nobody is working in, for the descriptors are needed.
    pub(crate) fn relieve(&self) {
        self.opened.close_all();
    }

    /// Returns a node's handles, opening them again if they were closed.
    pub(crate) fn of(&self, node: &Arc<Node>) -> Result<Arc<Handles>, (Side, CallError)> {
        if let Some(handles) = node.cached() {
            return Ok(handles);
        }
        let mut closed = vec![node];
        let mut at = node;
        let mut handles = loop {
            let Some(parent) = &at.parent else {
                return Err((Side::Source, CallError::new(Call::Openat, Errno::STALE)));
            };
            if let Some(handles) = parent.cached() {
                break handles;
            }
            closed.push(parent);
            at = parent;
        };
        for node in closed.into_iter().rev() {
            handles = Arc::new(self.reopen_below(&handles, node)?);
        }
        self.keep(node, &handles);
        Ok(handles)
    }

    fn reopen_below(&self, parent: &Handles, node: &Node) -> Result<Handles, (Side, CallError)> {
        let follow = if node.through_link { Follow::Yes } else { Follow::No };
        let source = open_directory(parent.source(), &node.source_name, follow)
            .and_then(|fd| is_the_one(fd, node.source_id))
            .map_err(|error| (Side::Source, error))?;
        let target = open_directory(parent.target(), node.target_name(), node.target_follow())
            .and_then(|fd| is_the_one(fd, node.target_id))
            .map_err(|error| (Side::Target, error))?;
        Ok(self.pair(source, target))
    }

    /// Opens a parent that was closed from its child, by `..`; quietly does nothing where that
    /// does not lead to the same directories.
    pub(crate) fn climb(&self, child: &Handles, parent: &Arc<Node>) {
        if parent.parent.is_none() || parent.cached().is_some() {
            return;
        }
        let up = |fd: BorrowedFd<'_>, expected| {
            let fd = open_directory(fd, c"..", Follow::No)?;
            is_the_one(fd, expected)
        };
        let source = up(child.source(), parent.source_id);
        let target = up(child.target(), parent.target_id);
        if let (Ok(source), Ok(target)) = (source, target) {
            self.keep(parent, &Arc::new(self.pair(source, target)));
        }
    }
}

impl Holds for Node {
    fn is_open(&self) -> bool {
        self.cached().is_some()
    }

    fn close(&self) {
        // The root of the run has no way back, so it stays.
        if self.parent.is_some() {
            *self.handles.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

fn is_the_one(fd: OwnedFd, expected: Identity) -> haul_sys::Result<OwnedFd> {
    if identity(&fstat(&fd)?) == expected {
        Ok(fd)
    } else {
        Err(CallError::new(Call::Openat, Errno::STALE))
    }
}
