//! A directory that one or several workers work on.

use haul_sys::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::node::{Directory, Node};
use crate::open::Open;
use crate::reader::Reader;

/// Whether the children of a directory may be handled at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Several children at once.
    Together,
    /// Each child with everything below it, before the next. Only for the list of operands.
    OneByOne,
}

/// A directory, the position in it, and its workers.
pub struct Task<D: Directory> {
    /// The directory.
    pub node: Arc<Node<D>>,
    /// Handle of the directory, for an operation that needs it open as long as it works there.
    pub(crate) held: Option<Arc<Open<D::Handle>>>,
    pub(crate) reader: Mutex<Reader>,
    pub(crate) children: Children,
    workers: AtomicUsize,
    /// Maximum useful number of workers.
    room: AtomicUsize,
    /// Number of workers that are busy with one entry for long.
    busy: AtomicUsize,
}

impl<D: Directory> Task<D> {
    /// Creates a task for one worker, which opens the directory for each batch if it was closed.
    #[must_use]
    pub fn new(node: Arc<Node<D>>, reader: Reader, room: usize) -> Task<D> {
        Task {
            node,
            held: None,
            reader: Mutex::new(reader),
            children: Children::Together,
            workers: AtomicUsize::new(1),
            room: AtomicUsize::new(room),
            busy: AtomicUsize::new(0),
        }
    }

    /// Keeps the directory open until the task ends, or until it waits for its children while
    /// descriptors are few. The position then needs no `lseek`, which not every FUSE server can
    /// restore.
    #[must_use]
    pub fn holding(self, handle: Arc<Open<D::Handle>>) -> Task<D> {
        Task { held: Some(handle), ..self }
    }

    /// Sets whether children may be handled at the same time.
    #[must_use]
    pub fn with_children(self, children: Children) -> Task<D> {
        Task { children, ..self }
    }

    /// Sets how many workers are useful in the directory.
    pub fn set_room(&self, workers: usize) {
        self.room.store(workers, Ordering::Relaxed);
    }

    /// Returns whether the number of workers has reached the useful maximum.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.places()
    }

    /// Returns how many workers are useful, those included that make no names at present.
    fn places(&self) -> usize {
        self.room.load(Ordering::Relaxed) + self.busy.load(Ordering::Relaxed)
    }

    /// Counts a worker as one that is busy with one entry for long.
    pub(crate) fn stay_away(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends what [`stay_away`](Task::stay_away) began.
    pub(crate) fn come_back(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_overfull(&self) -> bool {
        self.workers.load(Ordering::Relaxed) > self.places()
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.workers.load(Ordering::Relaxed) > 1
    }

    pub(crate) fn join(&self) {
        self.node.owe();
        self.workers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.workers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the data that is needed to continue later without the descriptors.
    pub(crate) fn parked(&self, reader: Reader) -> Parked<D> {
        let room = self.room.load(Ordering::Relaxed);
        Parked { node: Arc::clone(&self.node), reader, room }
    }
}

/// A directory whose remaining names are in memory and whose descriptors are closed.
pub(crate) struct Parked<D: Directory> {
    pub(crate) node: Arc<Node<D>>,
    pub(crate) reader: Reader,
    pub(crate) room: usize,
}
