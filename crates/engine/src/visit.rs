//! Visits the files of trees, for callers that only look at them: with any number of workers, relative to
//! open directories.
//!
//! A walk by paths follows a link that replaces a directory meanwhile, and ends at `PATH_MAX`. This one enters
//! each directory by its descriptor, and never follows a link but that of an operand.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use haul_engine::visit::{CallError, Visited, Visitor, visit};
//!
//! #[derive(Default)]
//! struct Bytes(AtomicU64);
//!
//! impl Visitor for Bytes {
//!     fn visit(&self, visited: &Visited<'_>) {
//!         match visited.stat() {
//!             Ok(stat) => _ = self.0.fetch_add(stat.size, Ordering::Relaxed),
//!             Err(error) => self.failed(&visited.path(), error),
//!         }
//!     }
//!
//!     fn failed(&self, path: &[u8], error: CallError) {
//!         eprintln!("{}: {error}", String::from_utf8_lossy(path));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # let tree = scratch.path();
//! # std::fs::create_dir(tree.join("below"))?;
//! # std::fs::write(tree.join("below/file"), "seven b")?;
//! let bytes = Bytes::default();
//! visit([tree], &bytes)?;
//! assert_eq!(bytes.0.into_inner(), 7);
//! # Ok(())
//! # }
//! ```

use std::ffi::{CStr, CString, NulError};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use haul_select::{MergeFlaw, Selection, Within};
pub use haul_sys::CallError;
use haul_sys::fs::{CWD, open_directory, split_at_last_slash, statat, statat_follow};
pub use haul_sys::fs::{Follow, Kind, Stat};
use haul_sys::{Call, Errno};
use haul_tree::{
    Batch, Below, Entries, Handle, Node, Nothing, OpenDirectories, Operand, Operation, Reader,
    Single, Task, Workers, walk,
};

use crate::data::request::default_jobs;
use crate::names::path::names_of;

/// Number of directories that stay open while the workers are in others.
const DIRECTORIES: usize = 64;

/// Number of files that a worker takes at a time: few, because one of them may be large.
const BATCH: usize = 4;

/// An entry that is not a directory.
pub struct Visited<'a> {
    /// Kind of the entry.
    pub kind: Kind,
    /// Directory that contains the entry, and the name there.
    pub directory: BorrowedFd<'a>,
    /// Name of the entry in that directory.
    pub entry: &'a CStr,
    /// Whether the entry may be a symbolic link: it is an operand.
    pub follow: Follow,
    node: &'a Node<Directory>,
}

impl Visited<'_> {
    /// Returns the path below the tree; the last component if the tree is a file itself.
    #[must_use]
    pub fn below(&self) -> Vec<u8> {
        below(self.node, self.entry)
    }

    /// Returns the path as the user would type it.
    #[must_use]
    pub fn path(&self) -> Vec<u8> {
        path(self.node, self.entry)
    }

    /// Returns the state of the entry. Fails if it is not there any more.
    pub fn stat(&self) -> haul_sys::Result<Stat> {
        stat(self.directory, self.entry, self.follow)
    }
}

/// Receives the entries of trees. Any worker calls it.
pub trait Visitor: Sync {
    /// Receives an entry that is not a directory.
    fn visit(&self, visited: &Visited<'_>);

    /// Receives the path of what could not be read, and the reason.
    fn failed(&self, path: &[u8], error: CallError);

    /// Returns whether the walk ends before it is complete. Every worker asks between entries.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A directory, with the selection in it.
type Directory = Single<Option<Within>>;

struct Visit<'a> {
    visitor: &'a dyn Visitor,
    jobs: usize,
    selection: Option<&'a Arc<Selection>>,
    directories: OpenDirectories<Directory>,
}

type Worker<'w, 'a> = haul_tree::Worker<'w, Visit<'a>>;

/// Visits trees, or files, with as many workers as keep the processors busy. Follows no symbolic link but
/// the operands. Blocks until all entries were visited, or the visitor stops the walk. Fails, without a visit,
/// if a path contains a NUL byte.
pub fn visit(
    trees: impl IntoIterator<Item = impl AsRef<Path>>,
    visitor: &dyn Visitor,
) -> Result<(), NulError> {
    let trees = names_of(trees)?;
    let trees: Vec<&CStr> = trees.iter().map(CString::as_c_str).collect();
    visit_selected(&trees, default_jobs(), None, visitor);
    Ok(())
}

/// Does the same with so many workers, and only for the entries that are selected.
pub fn visit_selected(
    trees: &[&CStr],
    jobs: usize,
    selection: Option<&Arc<Selection>>,
    visitor: &dyn Visitor,
) {
    let directories = OpenDirectories::new(DIRECTORIES);
    let root = Single::root(&directories, None);
    let operands: Vec<Operand> =
        trees.iter().map(|tree| Operand::whole((*tree).to_owned(), (*tree).to_owned())).collect();
    let task = Task::new(root, Reader::of_operands(&operands), jobs);
    let workers = Workers { busy: jobs, waiting: jobs };
    walk(&Visit { visitor, jobs, selection, directories }, workers, task, |_| ());
}

impl<'a> Operation for Visit<'a> {
    type Directory = Directory;
    type Found = Below<Option<Within>>;
    type Shared = Nothing;
    type Local = ();

    const ALONE_ENTRIES: u64 = 2;

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        self.visitor.is_stopped()
    }

    fn most_entries(_: &Worker<'_, 'a>, _: &Node<Directory>) -> usize {
        BATCH
    }

    fn enter(worker: &mut Worker<'_, 'a>, found: Self::Found) -> Option<Arc<Task<Directory>>> {
        let Below { parent, name, .. } = &found;
        let mut flaw = None;
        let selection = worker.operation.selection;
        let entered = Single::enter(worker.operation, &found, |fd, _| {
            let within = match (&****parent, selection) {
                (Some(within), _) => within.enter(name, fd).map(Some),
                (None, Some(selection)) => inside(selection, name, fd).map(Some),
                (None, None) => Ok(None),
            };
            within.map_err(|error| flaw = Some(error)).ok()
        });
        if let Some(flaw) = flaw {
            let error = match flaw {
                MergeFlaw::File(_, error) => error,
                MergeFlaw::Rule(..) => CallError::new(Call::Openat, Errno::INVAL),
            };
            worker.operation.visitor.failed(&path(parent, name), error);
        }
        let task = entered.unwrap_or_else(|error| {
            worker.operation.visitor.failed(&path(parent, name), error);
            None
        });
        match task {
            Some(task) => {
                task.set_room(worker.operation.jobs);
                Some(Arc::new(task))
            }
            None => {
                worker.release_child(found.parent);
                None
            }
        }
    }

    fn select(&self, node: &Node<Directory>, handle: &Handle, names: &mut Entries) {
        let Some(within) = &***node else { return };
        names.retain(|names, slot| {
            let name = names.name(slot);
            !within.choose(handle.as_fd(), name, slot.kind, Follow::No).is_excluded()
        });
    }

    fn handle(worker: &mut Worker<'_, 'a>, batch: Batch<'_, Directory>) {
        let node = &batch.task.node;
        let follow = if node.is_root() { Follow::Yes } else { Follow::No };
        for slot in &batch.entries.slots {
            let name = batch.entries.name(slot);
            let directory = batch.handle.as_fd();
            let kind = slot.kind.map_or_else(|| kind(directory, name, follow), Ok);
            match kind {
                Ok(Kind::Directory) => Below::push(worker, node, name, follow),
                Ok(_) if worker.operation.is_stopped() => {}
                Ok(kind) => worker.operation.visitor.visit(&Visited {
                    kind,
                    directory,
                    entry: name,
                    follow,
                    node,
                }),
                Err(error) => worker.operation.visitor.failed(&path(node, name), error),
            }
        }
    }

    fn reopen_failed(&self, node: &Node<Directory>, error: CallError) {
        self.visitor.failed(&Single::path(node).join(&b'/'), error);
    }

    fn read_failed(&self, node: &Node<Directory>, error: CallError) {
        self.visitor.failed(&Single::path(node).join(&b'/'), error);
    }
}

/// Returns the selection in a tree. Names do not begin with the tree's own.
fn inside(
    selection: &Arc<Selection>,
    tree: &CStr,
    directory: impl AsFd,
) -> Result<Within, MergeFlaw> {
    let root = CString::new([tree.to_bytes(), b"/"].concat()).unwrap_or_default();
    Within::operands(selection).enter_operand(&root, directory)
}

/// Returns whether a selection has a name that is not in the tree. Where a directory or its rules cannot be
/// read, the rules above it count.
#[must_use]
pub fn selects(selection: &Arc<Selection>, tree: &CStr, name: &[u8]) -> bool {
    let Ok(mut directory) = open_directory(CWD, tree, Follow::Yes) else { return true };
    let Ok(mut within) = inside(selection, tree, &directory) else { return true };
    let mut parts = name.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let Ok(part) = CString::new(part) else { return true };
        let kind = if parts.peek().is_some() { Kind::Directory } else { Kind::Regular };
        if within.choose(&directory, &part, Some(kind), Follow::No).is_excluded() {
            return false;
        }
        if kind == Kind::Directory {
            within = match open_directory(&directory, &part, Follow::No) {
                Ok(opened) => {
                    directory = opened;
                    within.enter(&part, &directory).unwrap_or_else(|_| within.lead(&part))
                }
                Err(_) => within.lead(&part),
            };
        }
    }
    true
}

fn kind(directory: BorrowedFd<'_>, name: &CStr, follow: Follow) -> haul_sys::Result<Kind> {
    stat(directory, name, follow).map(|stat| stat.kind())
}

fn stat(directory: BorrowedFd<'_>, name: &CStr, follow: Follow) -> haul_sys::Result<Stat> {
    match follow {
        Follow::Yes => statat_follow(directory, name),
        Follow::No => statat(directory, name),
    }
}

/// Returns the path of an entry, as the user would type it.
fn path(node: &Node<Directory>, name: &CStr) -> Vec<u8> {
    let mut path = Vec::new();
    for name in Single::path(node).into_iter().chain([name.to_bytes()]) {
        if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    path
}

/// Returns the path of an entry below the tree.
fn below(node: &Node<Directory>, name: &CStr) -> Vec<u8> {
    if node.is_root() {
        // The tree is a file itself.
        return split_at_last_slash(name.to_bytes()).1.to_vec();
    }
    let mut names = Single::path(node);
    names.push(name.to_bytes());
    // The first is that of the list of operands, the second is the tree.
    names.drain(..names.len().min(2));
    names.join(&b'/')
}
