//! The copy as an operation on a tree: how the walk enters directories, copies batches and
//! finishes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_io::Kit;
use haul_sys::CallError;
use haul_tree::{Entries, Finish, Operation, Share, Workers};

use crate::copy;
use crate::copy::context::{Enter, Local, Task, Worker};
use crate::copy::finish;
use crate::copy::item::Batch;
use crate::copy::node::{CopyDirectory, Handles, Node, OpenDirectories};
use crate::copy::run::Run;
use crate::copy::shared_file::{Role, SharedFile};
use crate::data::budget::WAITING_BATCH;
use crate::data::error::What;
use crate::data::request::Order;
use crate::data::selected;
use crate::decide;
use crate::peers::state::{Foreign, ROOT};

/// Maximum number of workers in one directory where they mostly wait. A new file takes about six
/// requests. The creation of the name takes two of them, which no other worker of this directory
/// can make meanwhile. So three workers would be enough, but another one has to find the next
/// files.
const DIRECTORY_WAITING_WORKERS: usize = 6;

impl Run<'_> {
    /// Returns the limits on the number of workers of the copy.
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
        // The control has counters for every worker that the budget allows. If some were missing,
        // two workers would share them and the counts would stay correct.
        let counters = &self.control.counters[number % self.control.counters.len()];
        let kit = if self.budget.pipes { Kit::new() } else { Kit::short_of_descriptors() };
        Local { counters, kit, batch: Batch::default() }
    }

    fn directories(&self) -> &OpenDirectories {
        &self.cache
    }

    fn is_stopped(&self) -> bool {
        self.stopped()
    }

    fn order(&self) -> Order {
        self.policy.order
    }

    fn most_entries(worker: &Worker<'_, 'r>, _: &Node) -> usize {
        let batch = worker.operation.budget.batch;
        // A worker that was started because others wait has fewer descriptors. What a worker has drawn
        // no other process can have, and requests to a file system that many machines share take long.
        let is_small = worker.is_extra() || worker.operation.peers.is_some();
        if is_small { batch.min(WAITING_BATCH) } else { batch }
    }

    fn may_grow(&self) -> bool {
        self.pace.is_none() && !haul_io::gentle::is_begun()
    }

    fn waiting_room(&self, _: &Node) -> usize {
        DIRECTORY_WAITING_WORKERS
    }

    fn allocation_group(&self, found: &Box<Enter>) -> Option<u64> {
        found.allocation_group
    }

    fn started(&self) {
        self.control.workers.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(
        worker: &mut Worker<'_, 'r>,
        found: Box<Enter>,
    ) -> Option<Arc<haul_tree::Task<CopyDirectory>>> {
        copy::directory::enter(worker, *found)
    }

    fn select(&self, node: &Node, handles: &Handles, names: &mut Entries) {
        let Some(within) = &node.within else { return };
        let is_operand = node.lists_operands;
        let role = if is_operand { decide::Role::Operand } else { decide::Role::Inside };
        let follow = decide::selects_as(role, self.policy);
        selected::leave_out(within, node.listing(), handles.source(), names, follow);
    }

    fn handle(worker: &mut Worker<'_, 'r>, batch: haul_tree::Batch<'_, CopyDirectory>) {
        let node = Arc::clone(&batch.task.node);
        let task = Task { node, handles: Arc::clone(batch.handle) };
        let mut items = std::mem::take(&mut worker.local.batch);
        copy::run(worker, &task, batch.entries, &mut items);
        haul_io::gentle::rest();
        worker.local.batch = items;
    }

    fn finish(worker: &mut Worker<'_, 'r>, node: &Arc<Node>) -> Finish {
        let run = worker.operation;
        let complete =
            |token| run.peers.iter().for_each(|it| it.complete(token, it.take_answer(token)));
        match node.foreign {
            Foreign::Above => {}
            Foreign::Unit(token) => {
                finish::finish_unit(run, node);
                complete(token);
            }
            Foreign::Part(token) => complete(token),
            Foreign::No => {
                finish::finish(run, node);
                if node.is_root() {
                    complete(ROOT);
                }
            }
        }
        Finish::Done
    }

    fn work(worker: &mut Worker<'_, 'r>, file: &Arc<SharedFile>) {
        copy::draw(worker, file, Role::Joined);
    }

    fn reopen_failed(&self, node: &Node, error: CallError) {
        self.fail_unread(node, What::OpenDirectory, error.errno);
    }

    fn read_failed(&self, node: &Node, error: CallError) {
        self.fail_unread(node, What::ReadDirectory, error.errno);
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
