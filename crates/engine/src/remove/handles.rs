//! Open directories, a budgeted cache beside the chain of nodes.
//!
//! The budget evicts the directory that was opened first, which in a depth-first walk is the one
//! that is needed last. A directory that is needed again is found from a child by `..`, or from the
//! nearest open ancestor by its names, and has to be the one that it was, by device and inode: if
//! somebody moved or replaced it meanwhile, it is an error instead of somebody else's files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use haul_sys::fs::{CWD, Follow, fstat, open_directory};
use haul_sys::{Call, CallError, Errno, Result};

use super::node::Node;
use crate::walk::node::{Identity, identity};
use crate::walk::opened::{Holds, Opened};

/// An open directory.
pub(super) struct Handle {
    /// Nothing for the current directory, which need not be readable.
    fd: Option<OwnedFd>,
    /// Differs between any two opens, so that a reader knows when it has lost its position.
    pub(super) generation: u64,
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().map_or(CWD, AsFd::as_fd)
    }
}

/// The directories that are open.
pub(super) struct Cache {
    opened: Opened<Node>,
    generation: AtomicU64,
    here: Arc<Handle>,
}

impl Cache {
    pub(super) fn new(most: usize) -> Cache {
        Cache {
            opened: Opened::new(most),
            generation: AtomicU64::new(1),
            here: Arc::new(Handle { fd: None, generation: 0 }),
        }
    }

    /// Numbers a directory that was opened.
    pub(super) fn handle(&self, fd: OwnedFd) -> Arc<Handle> {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        Arc::new(Handle { fd: Some(fd), generation })
    }

    /// Keeps a node's handle and closes the oldest ones beyond the budget.
    pub(super) fn keep(&self, node: &Arc<Node>, handle: &Arc<Handle>) {
        set(node, Some(Arc::clone(handle)));
        self.opened.add(node);
    }

    /// Forgets a node's handle, for the directory is done.
    pub(super) fn forget(&self, node: &Node) {
        set(node, None);
    }

    /// Makes a call that needs a descriptor; where there is none left, closes the directories that
    /// wait and makes it once more.
    pub(super) fn with_descriptors<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        match call() {
            Err(error) if matches!(error.errno, Errno::MFILE | Errno::NFILE) => {
                self.opened.close_all();
                call()
            }
            answer => answer,
        }
    }

    /// Returns a node's handle, opening it again if it was closed.
    pub(super) fn of(&self, node: &Arc<Node>) -> Result<Arc<Handle>> {
        let mut closed = Vec::new();
        let mut at = node;
        let mut handle = loop {
            let Some(parent) = &at.parent else { break Arc::clone(&self.here) };
            if let Some(handle) = at.cached() {
                break handle;
            }
            closed.push(at);
            at = parent;
        };
        let reopened = !closed.is_empty();
        for node in closed.into_iter().rev() {
            // An operand may be reached through links, as it was the first time.
            let fd = self.with_descriptors(|| open_directory(&handle, &node.name, Follow::No))?;
            handle = self.handle(is_the_one(fd, node.id)?);
        }
        if reopened {
            self.keep(node, &handle);
        }
        Ok(handle)
    }

    /// Returns the handle of a node's parent; where that was closed, by `..` of the node if that
    /// leads there, which costs the same however deep it is.
    pub(super) fn of_parent(&self, node: &Node, parent: &Arc<Node>) -> Result<Arc<Handle>> {
        if !parent.lists_operands()
            && parent.cached().is_none()
            && let Some(own) = node.cached()
        {
            let up = self
                .with_descriptors(|| open_directory(&own, c"..", Follow::No))
                .and_then(|fd| is_the_one(fd, parent.id));
            if let Ok(fd) = up {
                let handle = self.handle(fd);
                self.keep(parent, &handle);
                return Ok(handle);
            }
        }
        self.of(parent)
    }
}

impl Holds for Node {
    fn is_open(&self) -> bool {
        self.cached().is_some()
    }

    fn close(&self) {
        set(self, None);
    }
}

fn set(node: &Node, handle: Option<Arc<Handle>>) {
    *node.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
}

fn is_the_one(fd: OwnedFd, expected: Identity) -> Result<OwnedFd> {
    if identity(&fstat(&fd)?) == expected {
        Ok(fd)
    } else {
        Err(CallError::new(Call::Openat, Errno::STALE))
    }
}
