//! Census of a copy: counts its entries and bytes beside the copy, so that a progress bar can show
//! the time left.
//!
//! Nothing else depends on the counts, so a directory that cannot be read counts as empty.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::CallError;
use haul_sys::fs::{Follow, Kind, statat, statat_follow};
use haul_tree::{
    Batch, Below, Entries, Handle, Node, Nothing, OpenDirectories, Operand, Operation, Reader,
    Single, Task, Worker, Workers, identity, walk,
};

use crate::data::request::{Recursion, Request};
use crate::data::selected::{self, Inside, Listing};
use crate::decide::{Role, follows};

/// Number of directories that the census keeps open: it leaves most descriptors to the copy.
const DIRECTORIES: usize = 16;

/// Counts so far.
#[derive(Debug, Default)]
pub struct Census {
    bytes: AtomicU64,
    entries: AtomicU64,
    directories: AtomicU64,
    complete: AtomicBool,
}

impl Census {
    /// Returns bytes, entries, and whether the census is complete.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64, bool) {
        (
            self.bytes.load(Ordering::Relaxed),
            self.entries.load(Ordering::Relaxed),
            self.complete.load(Ordering::Relaxed),
        )
    }

    /// Returns how many of the entries are no directories.
    #[must_use]
    pub fn files(&self) -> u64 {
        let directories = self.directories.load(Ordering::Relaxed);
        self.entries.load(Ordering::Relaxed).saturating_sub(directories)
    }

    fn add(&self, kind: Kind, bytes: u64) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        if kind == Kind::Directory {
            self.directories.fetch_add(1, Ordering::Relaxed);
        }
        if kind == Kind::Regular {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// A directory of the sources.
type Directory = Single<Inside>;

/// The census as an operation on a tree.
struct Counting<'r> {
    request: &'r Request,
    census: &'r Census,
    stop: &'r AtomicBool,
    directories: OpenDirectories<Directory>,
}

/// Counts the sources of a request. Returns early when `stop` is set. Blocks while it reads.
pub fn count(request: &Request, census: &Census, stop: &AtomicBool) {
    let directories = OpenDirectories::new(DIRECTORIES);
    let within = selected::of_operands(request.policy.selection.as_ref());
    let root = Single::root(&directories, within);
    let counting = Counting { request, census, stop, directories };
    let operand = |source: &CString| Operand::whole(source.clone(), source.clone());
    let operands: Vec<Operand> = request.sources.iter().map(operand).collect();
    let task = Task::new(root, Reader::of_operands(&operands), 1);
    walk(&counting, Workers::ONE, task, |_| ());
    if !stop.load(Ordering::Relaxed) {
        census.complete.store(true, Ordering::Relaxed);
    }
}

impl Operation for Counting<'_> {
    type Directory = Directory;
    type Found = Below<Inside>;
    type Shared = Nothing;
    type Local = ();

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn enter(worker: &mut Worker<'_, Self>, found: Self::Found) -> Option<Arc<Task<Directory>>> {
        let Below { parent, name, .. } = &found;
        let entered = Single::enter(worker.operation, &found, |fd, stat| {
            // With `-L` a symbolic link may lead to a directory that contains it.
            let is_new = !Single::is_within(parent, identity(stat));
            let inside = selected::enter(parent, listing(parent), (name, false), fd);
            inside.ok().filter(|_| is_new)
        });
        // A directory that cannot be read counts as empty: the copy reports the error.
        let task = entered.ok().flatten();
        if task.is_none() {
            worker.release_child(found.parent);
        }
        task.map(Arc::new)
    }

    fn select(&self, node: &Node<Directory>, handle: &Handle, names: &mut Entries) {
        let Some(within) = &***node else { return };
        let follow = follows(role(node), &self.request.policy);
        selected::leave_out(within, listing(node), handle.as_fd(), names, follow);
    }

    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Directory>) {
        let counting = worker.operation;
        let node = &batch.task.node;
        let follow = follows(role(node), &counting.request.policy);
        let is_recursive = counting.request.policy.recursion == Recursion::Yes;
        for slot in &batch.entries.slots {
            if counting.is_stopped() {
                return;
            }
            let name = batch.entries.name(slot);
            let Some((kind, bytes)) = describe(&**batch.handle, name, follow) else { continue };
            counting.census.add(kind, bytes);
            if kind == Kind::Directory && is_recursive {
                Below::push(worker, node, name, follow);
            }
        }
    }

    fn reopen_failed(&self, _: &Node<Directory>, _: CallError) {}

    fn read_failed(&self, _: &Node<Directory>, _: CallError) {}
}

fn role(node: &Node<Directory>) -> Role {
    if node.is_root() { Role::Operand } else { Role::Inside }
}

fn listing(node: &Node<Directory>) -> Listing {
    if node.is_root() { Listing::Operands } else { Listing::Directory }
}

/// Returns the kind and the size of an entry.
fn describe(directory: impl AsFd, name: &CStr, follow: Follow) -> Option<(Kind, u64)> {
    let stat = match follow {
        Follow::Yes => statat_follow(directory, name),
        Follow::No => statat(directory, name),
    };
    stat.ok().map(|stat| (stat.kind(), stat.size))
}
