//! A directory with one side: one descriptor, a name, and the data of an operation.

use std::ffi::{CStr, CString};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use haul_sys::Result;
use haul_sys::fs::{Follow, Stat, fstat, open_directory};

use crate::handle::Handle;
use crate::identity::{Identity, identity, verified};
use crate::node::{Directory, Node};
use crate::open_directories::OpenDirectories;
use crate::operation::{Operation, Worker};
use crate::reader::Reader;
use crate::task::Task;

/// A directory with one side.
#[derive(Debug)]
pub struct Single<T> {
    name: CString,
    id: Identity,
    follow: Follow,
    data: T,
}

impl<T> Deref for Single<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

/// A directory that was found in another one, and not entered yet.
pub struct Below<T: Send + Sync> {
    /// The directory that contains it.
    pub parent: Arc<Node<Single<T>>>,
    /// Name there; for an operand, its path.
    pub name: CString,
    /// Whether the name may be that of a symbolic link to a directory.
    pub follow: Follow,
}

impl<T: Send + Sync> Below<T> {
    /// Pushes a directory that was found. The one that contains it waits for it.
    pub fn push<O: Operation<Directory = Single<T>, Found = Below<T>>>(
        worker: &mut Worker<'_, O>,
        parent: &Arc<Node<Single<T>>>,
        name: &CStr,
        follow: Follow,
    ) {
        parent.owe();
        worker.push(Below { parent: Arc::clone(parent), name: name.to_owned(), follow });
    }
}

impl<T: Send + Sync> Single<T> {
    /// Returns the name in the parent; for an operand, its path.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Creates the node that represents a list of operands whose paths are relative to the current
    /// directory.
    pub fn root(directories: &OpenDirectories<Single<T>>, data: T) -> Arc<Node<Single<T>>> {
        let name = CString::default();
        let node = Arc::new(Node::new(None, Single { name, id: (0, 0), follow: Follow::No, data }));
        directories.keep(&node, &directories.adopt(Handle::CURRENT));
        node
    }

    /// Opens a directory that was found and creates its task. `data` gets its state and returns
    /// the data of the operation, or `None` if the walk must not enter the directory.
    ///
    /// Fails if `open` or `fstat` fails.
    pub fn enter<O: Operation<Directory = Single<T>>>(
        operation: &O,
        found: &Below<T>,
        data: impl FnOnce(&OwnedFd, &Stat) -> Option<T>,
    ) -> Result<Option<Task<Single<T>>>> {
        let &Below { ref parent, ref name, follow } = found;
        let directories = operation.directories();
        let above = directories.of(parent)?;
        let fd = directories.with_descriptors(|| open_directory(&**above, name, follow))?;
        let stat = fstat(&fd)?;
        let Some(data) = data(&fd, &stat) else { return Ok(None) };
        let directory = Single { name: name.clone(), id: identity(&stat), follow, data };
        let node = Arc::new(Node::new(Some(Arc::clone(parent)), directory));
        let handle = directories.adopt(Handle::from(fd));
        directories.keep(&node, &handle);
        Ok(Some(Task::new(node, Reader::new(), 1).holding(handle)))
    }

    /// Returns whether a directory or one of its ancestors has this identity.
    #[must_use]
    pub fn is_within(node: &Arc<Node<Single<T>>>, id: Identity) -> bool {
        let mut at = Some(node);
        while let Some(node) = at {
            if node.id == id && !node.is_root() {
                return true;
            }
            at = node.parent.as_ref();
        }
        false
    }

    /// Returns the names from the operand down to a directory, for messages.
    #[must_use]
    pub fn path(node: &Node<Single<T>>) -> Vec<&[u8]> {
        let mut names = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            names.push(node.name.to_bytes());
            at = node.parent.as_deref();
        }
        names.reverse();
        names
    }
}

impl<T: Send + Sync> Directory for Single<T> {
    type Handle = Handle;

    fn entries(handle: &Handle) -> BorrowedFd<'_> {
        handle.as_fd()
    }

    fn reopen(&self, parent: &Handle) -> Result<Handle> {
        verified(open_directory(parent, &self.name, self.follow)?, self.id).map(Handle::from)
    }

    fn reopen_from(&self, child: &Handle) -> Result<Handle> {
        verified(open_directory(child, c"..", Follow::No)?, self.id).map(Handle::from)
    }

    fn is_remote(&self) -> bool {
        false
    }
}
