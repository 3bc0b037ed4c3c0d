//! Operation on a tree: the interface between the walk and copying, removing, counting and others.

mod groups;
mod outside;
mod shared_work;
mod worker;

use std::sync::Arc;

use haul_sys::CallError;

use crate::entries::Entries;
use crate::joint::Share;
use crate::node::{Directory, Node};
use crate::open::Open;
use crate::open_directories::OpenDirectories;
use crate::reader::{Chunk, End, Reader};
use crate::task::Task;

pub use outside::{Outgoing, Outside, walk_with};
pub use worker::{Worker, Workers, walk};

/// Number of entries in a batch: each batch costs two locks, which are negligible for 32 entries.
const BATCH_ENTRIES: usize = 32;

/// Order in which the entries of a tree are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In any order, by any number of workers.
    Any,
    /// One by one, each directory right after its name, as serial tools do.
    Listed,
}

/// Result of finishing a directory whose entries and descendants are handled.
#[derive(Debug)]
pub enum Finish {
    /// The directory is finished.
    Done,
    /// The walk continues to read the directory with this reader, and then finishes it again.
    Again(Reader),
}

/// A batch of entries of one directory.
pub struct Batch<'a, D: Directory> {
    /// Directory with its workers.
    pub task: &'a Arc<Task<D>>,
    /// Descriptors of the directory.
    pub handle: &'a Arc<Open<D::Handle>>,
    /// Entries of the batch.
    pub entries: &'a Entries,
}

/// An operation on a tree.
///
/// The methods without a receiver get the operation as [`Worker::operation`]. They run on any
/// worker, at the same time for different entries. A method reports its own failures; a failure
/// never ends the walk.
pub trait Operation: Sync + Sized {
    /// Data that the operation keeps for each directory.
    type Directory: Directory;
    /// A directory that was found and not entered yet.
    type Found: Send;
    /// Work on one file that several workers can do together; [`Nothing`](crate::Nothing) if there
    /// is none.
    type Shared: Share;
    /// State of one worker.
    type Local;

    /// Number of entries that a worker handles before it asks for help: the start of a thread
    /// costs as much as handling a few entries.
    const ALONE_ENTRIES: u64 = 64;

    /// End of a chunk from which a worker that joins a directory takes its batches.
    const JOINED_END: End = End::Front;

    /// Creates the local state of a worker; 0 is the caller's thread.
    fn local(&self, number: usize) -> Self::Local;

    /// Returns the cache of open directories.
    fn directories(&self) -> &OpenDirectories<Self::Directory>;

    /// Returns whether the walk has to end. Entries in progress are completed.
    fn is_stopped(&self) -> bool;

    /// Returns the order of the walk.
    fn order(&self) -> Order {
        Order::Any
    }

    /// Returns how much of a directory is read at a time.
    fn chunk(&self, _node: &Node<Self::Directory>) -> Chunk {
        Chunk::BUFFER
    }

    /// Returns the largest batch for this worker in a directory.
    fn most_entries(_worker: &Worker<'_, Self>, _node: &Node<Self::Directory>) -> usize {
        BATCH_ENTRIES
    }

    /// Returns whether the pool may grow beyond one worker for each processor while workers wait.
    fn may_grow(&self) -> bool {
        true
    }

    /// Returns how many workers are useful in one directory where workers wait for storage.
    fn waiting_room(&self, _node: &Node<Self::Directory>) -> usize {
        1
    }

    /// Returns the allocation group of a directory that was found, if the file system has a lock for
    /// each group that every change in the directory needs. A worker chooses a directory of a group in
    /// which no other worker is, unless it is alone or the order matters.
    fn allocation_group(&self, _found: &Self::Found) -> Option<u64> {
        None
    }

    /// Called when a thread was started.
    fn started(&self) {}

    /// Opens a directory that was found and returns its task. For a directory that is not entered,
    /// calls [`Worker::release_child`] with the parent and returns `None`.
    fn enter(
        worker: &mut Worker<'_, Self>,
        found: Self::Found,
    ) -> Option<Arc<Task<Self::Directory>>>;

    /// Takes the entries out of a batch that the operation is not about, before it is handled.
    fn select(
        &self,
        _node: &Node<Self::Directory>,
        _handle: &<Self::Directory as Directory>::Handle,
        _names: &mut Entries,
    ) {
    }

    /// Handles a batch of entries. For each directory among them, calls [`Node::owe`] on the
    /// parent and then [`Worker::push`].
    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Self::Directory>);

    /// Called when everything in a directory and below it is handled; for the list of operands
    /// last.
    fn finish(_worker: &mut Worker<'_, Self>, _node: &Arc<Node<Self::Directory>>) -> Finish {
        Finish::Done
    }

    /// Works on a shared file until no part of it is left to take.
    fn work(_worker: &mut Worker<'_, Self>, _shared: &Arc<Self::Shared>) {}

    /// Called if a directory could not be opened again, so that its remaining entries are lost.
    fn reopen_failed(&self, node: &Node<Self::Directory>, error: CallError);

    /// Called if a directory could not be read to its end.
    fn read_failed(&self, node: &Node<Self::Directory>, error: CallError);
}
