//! The objects that the kernel refers to by number: nodes and open files.
//!
//! A node holds its file open (`O_PATH`), so that a rename or an unlink behind the mount does not
//! change which file it is. Its number is the inode number, which cannot be reused while the file
//! is open. The server drops it when the kernel has forgotten it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{FileType, INodeNo};
use rustix::fs::{Mode, OFlags, Stat, fstat, open, openat};
use rustix::io::{Errno, Result};

/// A file that the kernel refers to.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) fd: OwnedFd,
    /// The name of the last lookup, for rules.
    pub(crate) name: Vec<u8>,
}

impl Node {
    /// Returns a path to this file for calls that take a path.
    pub(crate) fn path(&self) -> String {
        proc_path(self.fd.as_fd())
    }
}

fn proc_path(fd: BorrowedFd<'_>) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// An open file or directory.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) fd: OwnedFd,
    pub(crate) name: Vec<u8>,
    /// The names in a directory at the time it was read from its beginning.
    pub(crate) names: Mutex<Vec<(u64, FileType, Vec<u8>)>>,
}

#[derive(Debug, Default)]
struct Known {
    nodes: HashMap<u64, (Arc<Node>, u64)>,
}

/// All nodes and handles of a mount.
#[derive(Debug)]
pub(crate) struct Nodes {
    root_dev: u64,
    root_ino: u64,
    known: Mutex<Known>,
    handles: Mutex<HashMap<u64, Arc<Handle>>>,
    next_handle: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Nodes {
    pub(crate) fn new(root: &std::path::Path) -> Result<Nodes> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(root, flags, Mode::empty())?;
        let stat = fstat(&fd)?;
        let mut known = Known::default();
        let node = Arc::new(Node { fd, name: Vec::new() });
        known.nodes.insert(INodeNo::ROOT.0, (node, 1));
        Ok(Nodes {
            root_dev: stat.st_dev,
            root_ino: stat.st_ino,
            known: Mutex::new(known),
            handles: Mutex::default(),
            next_handle: AtomicU64::new(1),
        })
    }

    /// Returns a node that the kernel has not forgotten.
    pub(crate) fn get(&self, id: INodeNo) -> Result<Arc<Node>> {
        lock(&self.known).nodes.get(&id.0).map(|(node, _)| Arc::clone(node)).ok_or(Errno::STALE)
    }

    /// Returns the node number of an inode. FUSE reserves 1 for the root.
    pub(crate) fn id_of(&self, ino: u64) -> u64 {
        if ino == self.root_ino {
            INodeNo::ROOT.0
        } else if ino == INodeNo::ROOT.0 {
            u64::MAX
        } else {
            ino
        }
    }

    /// Looks up a name and increments the lookup count of its node.
    pub(crate) fn find(&self, parent: &Node, name: &OsStr) -> Result<(u64, Stat)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&parent.fd, name, flags, Mode::empty())?;
        let stat = fstat(&fd)?;
        if stat.st_dev != self.root_dev {
            return Err(Errno::XDEV);
        }
        let id = self.id_of(stat.st_ino);
        let mut known = lock(&self.known);
        match known.nodes.get_mut(&id) {
            Some((node, count)) => {
                *count += 1;
                if node.name != name.as_bytes() {
                    // Calls in progress keep the old one.
                    *node = Arc::new(Node { fd, name: name.as_bytes().to_vec() });
                }
            }
            None => {
                let node = Arc::new(Node { fd, name: name.as_bytes().to_vec() });
                known.nodes.insert(id, (node, 1));
            }
        }
        Ok((id, stat))
    }

    pub(crate) fn forget(&self, id: INodeNo, times: u64) {
        let mut known = lock(&self.known);
        let Some((_, count)) = known.nodes.get_mut(&id.0) else { return };
        *count = count.saturating_sub(times);
        if *count == 0 && id != INodeNo::ROOT {
            known.nodes.remove(&id.0);
        }
    }

    /// Opens a node for reading or writing.
    pub(crate) fn reopen(&self, node: &Node, flags: OFlags) -> Result<OwnedFd> {
        open(node.path(), flags | OFlags::CLOEXEC, Mode::empty())
    }

    /// Stores an open file and returns its number.
    pub(crate) fn keep(&self, fd: OwnedFd, name: &[u8]) -> u64 {
        let number = self.next_handle.fetch_add(1, Ordering::Relaxed);
        let handle = Handle { fd, name: name.to_vec(), names: Mutex::default() };
        lock(&self.handles).insert(number, Arc::new(handle));
        number
    }

    pub(crate) fn handle(&self, number: u64) -> Result<Arc<Handle>> {
        lock(&self.handles).get(&number).cloned().ok_or(Errno::BADF)
    }

    /// Drops an open file.
    pub(crate) fn release(&self, number: u64) {
        lock(&self.handles).remove(&number);
    }
}
