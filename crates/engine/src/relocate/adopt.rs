//! Adoption of an interrupted run's copy of a directory: verified entries stay, all others are
//! removed, and then the copy continues.
//!
//! The copy applies a file's times last, so equal times show that its attributes were applied.
//! Only a comparison shows that its bytes were written: after a power cut a file may have its size
//! and no data. The comparison asks the storage, not the page cache: pages that could not be written stay there,
//! and the flush that follows does not report them again.

use haul_sys::sync::Mutex;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::data::{Advice, fadvise};
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, Stat, fchmod, fstat, fsync, open_directory, openat, statat,
    unlinkat,
};
use haul_sys::{CallError, Result};
use haul_tree::{
    Batch, Chunk, Identity, Node, Nothing, OpenDirectories, Operation, Reader, Task, Worker,
    Workers, verified, walk,
};

use super::approval::{COMPARED_BYTES, same_bytes};
use super::durable::Trust;
use super::request::Policy;
use crate::copy::copied_entries::CopiedEntries;
use crate::metadata::{PossibleFlags, copied_attributes};
use crate::names::at::At;
use crate::names::by_identity::identity;
use crate::names::path::join;

/// Number of directories that are kept open; each has two descriptors.
const DIRECTORIES: usize = 32;

/// A directory of the source and the existing part of its copy.
struct Directory {
    name: CString,
    source: Identity,
    copy: Identity,
}

/// Open descriptors of both directories.
struct Handle {
    source: OwnedFd,
    copy: OwnedFd,
}

impl Handle {
    fn open(parent: &Handle, name: &CStr) -> Result<Handle> {
        let source = open_directory(&parent.source, name, Follow::No)?;
        Ok(Handle { source, copy: open_directory(&parent.copy, name, Follow::No)? })
    }
}

impl Directory {
    fn of(name: &CStr, handle: &Handle) -> Result<Directory> {
        let (source, copy) = (fstat(&handle.source)?, fstat(&handle.copy)?);
        Ok(Directory { name: name.to_owned(), source: identity(&source), copy: identity(&copy) })
    }

    fn verified(&self, handle: Handle) -> Result<Handle> {
        let source = verified(handle.source, self.source)?;
        Ok(Handle { source, copy: verified(handle.copy, self.copy)? })
    }
}

impl haul_tree::Directory for Directory {
    type Handle = Handle;

    fn entries(handle: &Handle) -> BorrowedFd<'_> {
        handle.copy.as_fd()
    }

    fn reopen(&self, parent: &Handle) -> Result<Handle> {
        self.verified(Handle::open(parent, &self.name)?)
    }

    fn reopen_from(&self, child: &Handle) -> Result<Handle> {
        self.verified(Handle::open(child, c"..")?)
    }

    fn is_remote(&self) -> bool {
        false
    }
}

/// Examines an unfinished copy and removes the files in it that are not verified. Returns the
/// paths, relative to the copy, of directories that the caller must remove as a whole.
pub(super) fn adopt(
    source: &CStr,
    copy: At<'_>,
    (policy, trust): (&Policy, Trust),
    copied: &CopiedEntries,
    stop: &AtomicBool,
) -> Result<Vec<Vec<u8>>> {
    let handle = Handle {
        source: open_directory(CWD, source, Follow::No)?,
        copy: open_directory(copy.directory, copy.name, Follow::No)?,
    };
    // Complete directories have their final modes, which may grant access to other users.
    fchmod(&handle.copy, 0o700)?;
    let adoption = Adoption {
        directories: OpenDirectories::new(DIRECTORIES),
        doomed: Mutex::default(),
        failed: Mutex::default(),
        privileged: policy.privileged,
        trust,
        possible_flags: PossibleFlags::default(),
        copied,
        stop,
    };
    let top = Arc::new(Node::new(None, Directory::of(c"", &handle)?));
    let handle = adoption.directories.adopt(handle);
    adoption.directories.keep(&top, &handle);
    walk(&adoption, Workers::ONE, Task::new(top, Reader::new(), 1).holding(handle), |_| ());
    match adoption.failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(adoption.doomed.into_inner()),
    }
}

/// Adoption as an operation on a tree.
struct Adoption<'a> {
    directories: OpenDirectories<Directory>,
    doomed: Mutex<Vec<Vec<u8>>>,
    /// First error on the side of the copy. It ends the adoption.
    failed: Mutex<Option<CallError>>,
    privileged: bool,
    /// How files reach stable storage; where a flush covers them all, the caller has made it.
    trust: Trust,
    /// Which flags the copies can have.
    possible_flags: PossibleFlags,
    /// Record of the entries that stay: they count as copied.
    copied: &'a CopiedEntries,
    stop: &'a AtomicBool,
}

/// Buffers for comparing files.
struct Local {
    bytes: [Vec<u8>; 2],
}

/// A directory of the copy.
struct Found {
    parent: Arc<Node<Directory>>,
    name: CString,
}

impl Operation for Adoption<'_> {
    type Directory = Directory;
    type Found = Found;
    type Shared = Nothing;
    type Local = Local;

    fn local(&self, _: usize) -> Local {
        Local { bytes: [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]] }
    }

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        let failed = self.failed.lock();
        self.stop.load(Ordering::Relaxed) || failed.is_some()
    }

    fn chunk(&self, _: &Node<Directory>) -> Chunk {
        // The walk removes names while the directory is open, and some file systems then lose the
        // position in the directory. So it reads all entries at once.
        Chunk { bytes: usize::MAX, ..Chunk::BUFFER }
    }

    fn enter(worker: &mut Worker<'_, Self>, found: Found) -> Option<Arc<Task<Directory>>> {
        let adoption = worker.operation;
        let Found { parent, name } = found;
        if !adoption.is_stopped() {
            match adoption.open(&parent, &name) {
                Ok(task) => return Some(Arc::new(task)),
                // The source has no such directory, or the directory cannot be read: its copy is
                // removed.
                Err(_) => adoption.doom(&parent, &name),
            }
        }
        worker.release_child(parent);
        None
    }

    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Directory>) {
        let adoption = worker.operation;
        let Batch { task, handle, entries } = batch;
        for slot in &entries.slots {
            if adoption.is_stopped() {
                return;
            }
            let name = entries.name(slot);
            match adoption.judge(&mut worker.local, handle, name) {
                Ok(Kind::Directory) => {
                    task.node.owe();
                    let parent = Arc::clone(&task.node);
                    worker.push(Found { parent, name: name.to_owned() });
                }
                Ok(_) => {}
                Err(error) => adoption.fail(error),
            }
        }
    }

    fn reopen_failed(&self, _: &Node<Directory>, error: CallError) {
        self.fail(error);
    }

    fn read_failed(&self, _: &Node<Directory>, error: CallError) {
        self.fail(error);
    }
}

impl Adoption<'_> {
    fn fail(&self, error: CallError) {
        let mut failed = self.failed.lock();
        failed.get_or_insert(error);
    }

    fn doom(&self, parent: &Node<Directory>, name: &CStr) {
        let mut names = vec![name.to_bytes()];
        let mut at = Some(parent);
        while let Some(node) = at {
            names.push(node.name.to_bytes());
            at = node.parent.as_deref();
        }
        names.reverse();
        self.doomed.lock().push(join(&names));
    }

    fn open(&self, parent: &Arc<Node<Directory>>, name: &CStr) -> Result<Task<Directory>> {
        let above = self.directories.of(parent)?;
        let handle = self.directories.with_descriptors(|| Handle::open(&above, name))?;
        fchmod(&handle.copy, 0o700)?;
        let node = Arc::new(Node::new(Some(Arc::clone(parent)), Directory::of(name, &handle)?));
        let handle = self.directories.adopt(handle);
        self.directories.keep(&node, &handle);
        Ok(Task::new(node, Reader::new(), 1).holding(handle))
    }

    /// Removes an entry of the copy unless it is a directory or verified. Returns its kind.
    fn judge(&self, local: &mut Local, handle: &Handle, name: &CStr) -> Result<Kind> {
        let there = statat(&handle.copy, name)?;
        let kind = there.kind();
        if kind != Kind::Directory && !self.is_right(local, handle, name, &there) {
            unlinkat(&handle.copy, name)?;
        }
        Ok(kind)
    }

    /// Returns whether a file is a complete copy. A file with several names is copied again,
    /// because the copy has to know it to link the other names.
    fn is_right(&self, local: &mut Local, handle: &Handle, name: &CStr, there: &Stat) -> bool {
        let Ok(stat) = statat(&handle.source, name) else { return false };
        let both_plain = stat.kind() == Kind::Regular
            && there.kind() == Kind::Regular
            && (stat.nlink, there.nlink) == (1, 1);
        let owner = |stat: &Stat| (stat.uid, stat.gid);
        let is_right = both_plain
            && stat.size == there.size
            && stat.mtime == there.mtime
            && stat.permissions() == there.permissions()
            && (!self.privileged || owner(&stat) == owner(there))
            && self.has_same_bytes(local, handle, name).unwrap_or(false);
        if is_right {
            self.copied.insert(&stat);
        }
        is_right
    }

    /// Returns whether a copy has the attributes, the flags and the bytes of its source.
    fn has_same_bytes(&self, local: &mut Local, handle: &Handle, name: &CStr) -> Result<bool> {
        let source = openat(&handle.source, name, OpenHow::READ)?;
        let copy = openat(&handle.copy, name, OpenHow::READ)?;
        if self.trust == Trust::Each {
            fsync(&copy)?;
        }
        // The pages are clean after the flush of the file or of the whole file system. What cannot be dropped is
        // compared as it is.
        let _kept = fadvise(&copy, 0, 0, Advice::DontNeed);
        let has_flags = || {
            let directory = handle.copy.as_fd();
            self.possible_flags.has_those_of(source.as_fd(), copy.as_fd(), directory)
        };
        // An earlier run may have failed to set an attribute, or the attribute may have changed since.
        Ok(copied_attributes(source.as_fd())? == copied_attributes(copy.as_fd())?
            && has_flags()
            && same_bytes(&source, &copy, &mut local.bytes)?)
    }
}
