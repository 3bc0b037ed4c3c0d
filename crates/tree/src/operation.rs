//! What is done with a tree: the seam between the walk and copying, removing, counting and the rest.

mod worker;

use std::sync::Arc;

use haul_sys::CallError;

use crate::entries::Entries;
use crate::node::{Directory, Node};
use crate::open::Open;
use crate::open_directories::OpenDirectories;
use crate::pool::Share;
use crate::reader::{Chunk, End, Reader};
use crate::task::Task;

pub use worker::{Worker, Workers, walk};

/// Entries of a batch: handing a batch over costs two locks, which 32 make nothing.
const BATCH_ENTRIES: usize = 32;

/// In which order the entries of a tree are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In any order, by any number of workers.
    Any,
    /// One by one, each directory right after its name, as serial tools do it.
    Listed,
}

/// What happens to a directory whose entries and descendants are handled.
#[derive(Debug)]
pub enum Finish {
    /// It is done.
    Done,
    /// Its entries are read again from here; it is finished once more after that.
    Again(Reader),
}

/// A batch of entries of one directory.
pub struct Batch<'a, D: Directory> {
    /// The directory with the workers in it.
    pub task: &'a Arc<Task<D>>,
    /// Its descriptors.
    pub handle: &'a Arc<Open<D::Handle>>,
    /// The entries.
    pub entries: &'a Entries,
}

/// An operation on a tree.
///
/// The methods without a receiver get the operation as [`Worker::operation`]. They run on any of the
/// workers, at the same time for different entries. A method reports its own failures; the walk never
/// ends because of one.
pub trait Operation: Sync + Sized {
    /// What the operation keeps for each directory.
    type Directory: Directory;
    /// A directory that was found and not entered yet.
    type Found: Send;
    /// Work on one file that several workers can do together; [`Nothing`](crate::Nothing) if there is none.
    type Shared: Share;
    /// What each worker keeps for itself.
    type Local;

    /// Entries that a worker handles before it asks for help: starting a thread costs as much as
    /// handling a few entries.
    const ALONE_ENTRIES: u64 = 64;

    /// The end of a chunk from which a worker that joins a directory takes its batches.
    const JOINED_END: End = End::Front;

    /// Makes the local state of a worker; 0 is the caller's thread.
    fn local(&self, number: usize) -> Self::Local;

    /// Returns the cache of open directories.
    fn directories(&self) -> &OpenDirectories<Self::Directory>;

    /// Returns whether the walk is to end. Entries in progress are completed.
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

    /// Is called when a thread was started.
    fn started(&self) {}

    /// Opens a directory that was found and returns its task. A directory that is not entered is
    /// settled by [`Worker::release_child`] of its parent, and `None` returned.
    fn enter(
        worker: &mut Worker<'_, Self>,
        found: Self::Found,
    ) -> Option<Arc<Task<Self::Directory>>>;

    /// Handles a batch of entries. Directories among them go to [`Worker::push`], after
    /// [`Node::owe`] of their parent.
    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Self::Directory>);

    /// Is called when everything in a directory and below it is handled, for the list of operands last.
    fn finish(_worker: &mut Worker<'_, Self>, _node: &Arc<Node<Self::Directory>>) -> Finish {
        Finish::Done
    }

    /// Works on a shared file until there is nothing left to take of it.
    fn work(_worker: &mut Worker<'_, Self>, _shared: &Arc<Self::Shared>) {}

    /// Is told that a directory could not be opened again, so that its remaining entries are lost.
    fn reopen_failed(&self, node: &Node<Self::Directory>, error: CallError);

    /// Is told that a directory could not be read to its end.
    fn read_failed(&self, node: &Node<Self::Directory>, error: CallError);
}
