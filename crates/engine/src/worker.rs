//! Copying as an operation on a tree: how the walk enters directories, copies batches and finishes.

use std::ffi::CString;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_io::{Kit, Watch};
use haul_sys::CallError;
use haul_sys::fs::Stat;
use haul_tree::{Finish, Open, Operation, Share, Workers};

use crate::apply;
use crate::apply::shared::SharedFile;
use crate::error::What;
use crate::finish;
use crate::monitor::Shard;
use crate::request::Order;
use crate::run::Run;
use crate::schedule::budget::WAITING_BATCH;
use crate::walk::node::{CopyDirectory, Handles, Node, OpenDirectories, Origin};

/// The largest number of workers in one directory. Making a name takes about 40 % of the time of a small
/// file, and only one worker can do that at a time. A third worker makes 100,000 files in one directory
/// slower by a tenth (0.69 against 0.63 of GNU cp's time on ext4, 0.67 against 0.59 on XFS).
pub(crate) const DIRECTORY_WORKERS: usize = 2;

/// The same where they mostly wait. A new file then takes about six requests, of which making the name
/// takes two that no other worker of this directory can make meanwhile, so that three would do; another
/// one has to find the next files.
const DIRECTORY_WAITING_WORKERS: usize = 6;

/// A directory to enter.
pub(crate) struct Enter {
    pub(crate) parent: Arc<Node>,
    pub(crate) source_name: CString,
    pub(crate) target_name: Option<CString>,
    pub(crate) stat: Stat,
    /// The mode it was made with, or `None` if it was there.
    pub(crate) made: Option<u32>,
    /// Whether it may have entries: it was there, or an earlier run made it.
    pub(crate) origin: Origin,
    pub(crate) through_link: bool,
    pub(crate) target_through_link: bool,
    /// What is left of an operand's path below this directory, if only that is wanted of it.
    pub(crate) rest: Option<CString>,
}

/// A directory in which a batch is copied.
pub(crate) struct Task {
    pub(crate) node: Arc<Node>,
    pub(crate) handles: Arc<Open<Handles>>,
}

impl Deref for Task {
    type Target = CopyDirectory;

    fn deref(&self) -> &CopyDirectory {
        &self.node
    }
}

/// What each worker of a copy keeps for itself.
pub(crate) struct Local<'r> {
    pub(crate) shard: &'r Shard,
    pub(crate) kit: Kit,
    batch: apply::Batch,
}

/// A worker of a copy.
pub(crate) type Worker<'w, 'r> = haul_tree::Worker<'w, Run<'r>>;

/// Returns what a worker is watched by while it moves bytes.
pub(crate) fn watch<'w>(worker: &Worker<'w, '_>) -> Watch<'w> {
    let run = worker.operation;
    Watch { stop: run.control.stop, bytes: &worker.local.shard.bytes, pace: run.pace.as_ref() }
}

impl Run<'_> {
    /// Returns how many workers the copy may have.
    pub(crate) fn workers(&self) -> Workers {
        Workers { busy: self.budget.workers, waiting: self.budget.waiting_workers }
    }
}

impl<'r> Operation for Run<'r> {
    type Directory = CopyDirectory;
    type Found = Box<Enter>;
    type Shared = SharedFile;
    type Local = Local<'r>;

    const ALONE_ENTRIES: u64 = 24;

    fn local(&self, number: usize) -> Local<'r> {
        // There is a shard for every worker that the budget allows; a missing one could only be
        // shared, never wrong.
        let shard = &self.control.shards[number % self.control.shards.len()];
        let kit = if self.budget.pipes { Kit::new() } else { Kit::short_of_descriptors() };
        Local { shard, kit, batch: apply::Batch::default() }
    }

    fn directories(&self) -> &OpenDirectories {
        &self.cache
    }

    fn is_stopped(&self) -> bool {
        self.stopped()
    }

    fn order(&self) -> haul_tree::Order {
        match self.policy.order {
            Order::Any => haul_tree::Order::Any,
            Order::Listed => haul_tree::Order::Listed,
        }
    }

    fn most_entries(worker: &Worker<'_, 'r>, _: &Node) -> usize {
        let batch = worker.operation.budget.batch;
        // Workers that were started because others wait have fewer descriptors.
        if worker.is_extra() { batch.min(WAITING_BATCH) } else { batch }
    }

    fn may_grow(&self) -> bool {
        self.pace.is_none()
    }

    fn waiting_room(&self, _: &Node) -> usize {
        DIRECTORY_WAITING_WORKERS
    }

    fn started(&self) {
        self.control.workers.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(
        worker: &mut Worker<'_, 'r>,
        found: Box<Enter>,
    ) -> Option<Arc<haul_tree::Task<CopyDirectory>>> {
        apply::directory::enter(worker, *found)
    }

    fn handle(worker: &mut Worker<'_, 'r>, batch: haul_tree::Batch<'_, CopyDirectory>) {
        let node = Arc::clone(&batch.task.node);
        let task = Task { node, handles: Arc::clone(batch.handle) };
        let mut items = std::mem::take(&mut worker.local.batch);
        apply::run(worker, &task, batch.entries, &mut items);
        worker.local.batch = items;
    }

    fn finish(worker: &mut Worker<'_, 'r>, node: &Arc<Node>) -> Finish {
        finish::finish(worker.operation, node);
        Finish::Done
    }

    fn work(worker: &mut Worker<'_, 'r>, file: &Arc<SharedFile>) {
        apply::shared::work(worker, file);
    }

    fn reopen_failed(&self, node: &Node, error: CallError) {
        self.fail_node(node, What::OpenDirectory, Some(error.errno));
    }

    fn read_failed(&self, node: &Node, error: CallError) {
        self.fail_node(node, What::ReadDirectory, Some(error.errno));
    }
}

impl Share for SharedFile {
    fn is_full(&self) -> bool {
        SharedFile::is_full(self)
    }

    fn join(&self) {
        SharedFile::join(self);
    }
}
