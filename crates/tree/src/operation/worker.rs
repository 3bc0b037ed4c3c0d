//! A worker: takes directories, draws batches of their entries, and shares work that others can
//! join.

use std::sync::Arc;
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::groups::Groups;
use super::{Batch, Finish, Operation, Order};
use crate::entries::Entries;
use crate::joint::{Joint, Share as _};
use crate::meter::Meter;
use crate::node::{Directory as _, Node};
use crate::open::Open;
use crate::pool::{Demand, Pool, Work};
use crate::reader::{End, Hold, Memory, Next, Stream};
use crate::task::{Children, Parked, Task};

/// Stack size of a worker. No function recurses and no frame contains a buffer, so an eighth of
/// the usual size is ample. A small stack matters to a run with little memory.
const STACK_BYTES: usize = 256 << 10;

/// Maximum time for a batch; after a longer one, the next batch is smaller. The time is long
/// enough for 32 small files on a local disk, and for a few requests to another machine.
const BATCH_TIME: Duration = Duration::from_millis(2);

/// Job on a worker's stack.
pub(crate) enum Job<O: Operation> {
    /// A directory to enter.
    Enter(O::Found),
    /// A directory with some entries handled.
    Continue(Arc<Task<O::Directory>>),
    /// A directory like `Continue`, read to its end and closed because descriptors are few.
    Parked(Box<Parked<O::Directory>>),
    /// A call that came from outside the walk.
    Call(Call<O>),
}

impl<O: Operation> Job<O> {
    /// Returns the allocation group of a directory to enter.
    fn group(&self, operation: &O) -> Option<u64> {
        match self {
            Job::Enter(found) => operation.allocation_group(found),
            Job::Continue(_) | Job::Parked(_) | Job::Call(_) => None,
        }
    }
}

/// A call on any worker.
pub(crate) type Call<O> = Box<dyn FnOnce(&mut Worker<'_, O>) + Send>;

/// Work that an idle worker can join.
pub(crate) enum Joinable<O: Operation> {
    Directory(Arc<Task<O::Directory>>),
    Shared(Arc<O::Shared>),
}

impl<O: Operation> Clone for Joinable<O> {
    fn clone(&self) -> Joinable<O> {
        match self {
            Joinable::Directory(task) => Joinable::Directory(Arc::clone(task)),
            Joinable::Shared(shared) => Joinable::Shared(Arc::clone(shared)),
        }
    }
}

impl<O: Operation> Joint for Joinable<O> {
    fn is(&self, other: &Joinable<O>) -> bool {
        match (self, other) {
            (Joinable::Directory(one), Joinable::Directory(two)) => Arc::ptr_eq(one, two),
            (Joinable::Shared(one), Joinable::Shared(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }

    fn is_full(&self) -> bool {
        match self {
            Joinable::Directory(task) => task.is_full(),
            Joinable::Shared(shared) => shared.is_full(),
        }
    }

    fn can_wait(&self) -> bool {
        matches!(self, Joinable::Shared(_))
    }

    fn join(&self) {
        match self {
            Joinable::Directory(task) => task.join(),
            Joinable::Shared(shared) => shared.join(),
        }
    }
}

/// Maximum numbers of workers of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Number of workers that keep the processors busy, the caller's thread included; at least 1.
    pub busy: usize,
    /// Number of workers where they mostly wait for storage; at least as many.
    pub waiting: usize,
}

impl Workers {
    /// The caller's thread alone.
    pub const ONE: Workers = Workers { busy: 1, waiting: 1 };
}

/// State that all workers of a walk share.
pub(crate) struct Crew<'r, O: Operation> {
    pub(crate) operation: &'r O,
    pub(crate) pool: Pool<Job<O>, Joinable<O>>,
    workers: Workers,
    groups: Groups,
    /// List of operands, if they are handled one by one.
    list: Option<Arc<Task<O::Directory>>>,
}

/// Starts threads for workers.
pub(crate) trait Threads<'w, O: Operation>: Sync {
    fn start(&'w self, crew: &'w Crew<'w, O>, number: usize) -> std::io::Result<()>;
}

impl<'scope, O: Operation> Threads<'scope, O> for Scope<'scope, '_> {
    fn start(&'scope self, crew: &'scope Crew<'scope, O>, number: usize) -> std::io::Result<()> {
        let builder = std::thread::Builder::new();
        let builder = builder.name(format!("haul-{number}")).stack_size(STACK_BYTES);
        builder.spawn_scoped(self, move || Worker::new(crew, self, number).work()).map(drop)
    }
}

/// One worker of a walk.
pub struct Worker<'w, O: Operation> {
    /// Operation of the walk.
    pub operation: &'w O,
    /// State that the operation keeps for this worker.
    pub local: O::Local,
    pub(super) crew: &'w Crew<'w, O>,
    threads: &'w dyn Threads<'w, O>,
    memory: Memory,
    names: Entries,
    pub(super) stack: Vec<Job<O>>,
    /// Directory that the worker draws batches from.
    pub(super) directory: Option<Arc<Task<O::Directory>>>,
    /// Whether that directory counts the worker as one that is busy with one entry.
    pub(super) is_away: bool,
    handled: u64,
    /// Allocation group of the directory that this worker entered last.
    group: Option<u64>,
    /// Group of the directory before that one.
    group_before: Option<u64>,
    /// Number of entries in the next batch if each entry is a request to another machine.
    batch_entries: usize,
    meter: Option<Meter>,
    /// Whether this worker was started because others waited.
    is_extra: bool,
    /// Whether this worker mostly waited in its last measurement.
    is_waiting: bool,
}

/// Walks a tree from a list of operands. Returns when all entries are handled, or after a stop
/// when the entries in progress are handled. Blocks until then; `end` runs on the caller's thread
/// after all workers have ended.
///
/// # Panics
///
/// Panics if the operation panicked in any worker; the other workers first complete what they had
/// started.
pub fn walk<O: Operation, R>(
    operation: &O,
    workers: Workers,
    root: Task<O::Directory>,
    end: impl FnOnce(&mut Worker<'_, O>) -> R,
) -> R {
    let root = Arc::new(root);
    let crew = Crew::new(operation, workers, &root);
    std::thread::scope(|scope| {
        let mut worker = Worker::new(&crew, scope, 0);
        worker.stack.push(Job::Continue(root));
        worker.work();
        end(&mut worker)
    })
}

impl<'r, O: Operation> Crew<'r, O> {
    pub(crate) fn new(
        operation: &'r O,
        workers: Workers,
        root: &Arc<Task<O::Directory>>,
    ) -> Crew<'r, O> {
        let list = (root.children == Children::OneByOne).then(|| Arc::clone(root));
        let pool = Pool::new(workers.busy, workers.waiting);
        Crew { operation, pool, workers, groups: Groups::new(), list }
    }
}

impl<'w, O: Operation> Worker<'w, O> {
    pub(crate) fn new(
        crew: &'w Crew<'w, O>,
        threads: &'w dyn Threads<'w, O>,
        number: usize,
    ) -> Worker<'w, O> {
        let is_extra = number >= crew.workers.busy;
        Worker {
            operation: crew.operation,
            local: crew.operation.local(number),
            crew,
            threads,
            memory: Memory::default(),
            names: Entries::default(),
            stack: Vec::new(),
            directory: None,
            is_away: false,
            handled: 0,
            group: None,
            group_before: None,
            batch_entries: 1,
            meter: None,
            is_extra,
            is_waiting: is_extra,
        }
    }

    /// Returns whether the worker was started because others mostly waited.
    #[must_use]
    pub const fn is_extra(&self) -> bool {
        self.is_extra
    }

    /// Pushes a directory that was found onto the stack; the last one is entered first.
    pub fn push(&mut self, found: O::Found) {
        self.stack.push(Job::Enter(found));
    }

    /// Returns the length of the stack, for [`reverse_from`](Worker::reverse_from).
    #[must_use]
    pub const fn stack_length(&self) -> usize {
        self.stack.len()
    }

    /// Reverses the order of the directories that were pushed since the stack had this length.
    pub fn reverse_from(&mut self, length: usize) {
        // Other workers may have taken jobs meanwhile.
        let from = length.min(self.stack.len());
        self.stack[from..].reverse();
    }

    /// Pushes a task that was not found by this walk.
    pub fn push_task(&mut self, task: Arc<Task<O::Directory>>) {
        self.stack.push(Job::Continue(task));
    }

    /// Works until no work is left in the whole walk.
    pub(crate) fn work(&mut self) {
        let operation = self.operation;
        haul_sys::process::work_until(&|| operation.is_stopped(), || self.work_all());
    }

    fn work_all(&mut self) {
        let _guard = self.crew.pool.guard();
        loop {
            let job = match self.pop() {
                Some(job) => job,
                None => match self.crew.pool.take() {
                    Work::Job(job) => job,
                    Work::Join(Joinable::Directory(task)) => {
                        self.run_task(&task, O::JOINED_END);
                        continue;
                    }
                    Work::Join(Joinable::Shared(shared)) => {
                        O::work(self, &shared);
                        continue;
                    }
                    Work::Nothing => return,
                },
            };
            match job {
                Job::Enter(found) => {
                    self.group = self.operation.allocation_group(&found);
                    self.group.inspect(|group| self.crew.groups.enter(*group));
                    if let Some(task) = O::enter(self, found) {
                        self.run_task(&task, End::Front);
                    }
                }
                Job::Continue(task) => self.run_task(&task, End::Front),
                Job::Parked(parked) => self.unpark(*parked),
                Job::Call(call) => call(self),
            }
            self.share(None);
        }
    }

    /// Takes the newest job off the stack, or a recent one if another worker is in the newest one's
    /// allocation group or has just left it.
    fn pop(&mut self) -> Option<Job<O>> {
        if let Some(group) = self.group.take() {
            self.crew.groups.leave(group);
            if let Some(before) = self.group_before.replace(group) {
                self.crew.groups.forget(before);
            }
        }
        if !self.chooses_groups() {
            return self.stack.pop();
        }
        let chosen = self
            .crew
            .groups
            .choose(&self.stack, self.group_before, |job| job.group(self.operation))?;
        Some(self.stack.remove(chosen))
    }

    /// Returns whether this worker may take directories in another order than they were found, and other
    /// workers are to be kept out of the way.
    fn chooses_groups(&self) -> bool {
        self.crew.workers.busy > 1 && self.operation.order() == Order::Any
    }

    /// Handles the entries of a directory, until there are none or other work should come first.
    fn run_task(&mut self, task: &Arc<Task<O::Directory>>, end: End) {
        // A worker works on one directory at a time, so one arena serves them all.
        let mut names = std::mem::take(&mut self.names);
        self.directory = Some(Arc::clone(task));
        let is_done = self.draw_batches(task, end, &mut names);
        self.directory = None;
        self.names = names;
        if is_done {
            task.leave();
            self.crew.pool.withdraw(&Joinable::Directory(Arc::clone(task)));
            self.release(Arc::clone(&task.node));
        }
    }

    /// Returns whether this worker is done with the directory. If not, the directory is on the
    /// stack, below its children, or continues when an operand is finished.
    fn draw_batches(
        &mut self,
        task: &Arc<Task<O::Directory>>,
        end: End,
        names: &mut Entries,
    ) -> bool {
        let mut first_child = self.stack.len();
        let is_listed = self.operation.order() == Order::Listed;
        let is_remote = task.node.is_remote();
        self.batch_entries = if is_remote { 1 } else { usize::MAX };
        self.watch_for_waiting(is_remote || task.node.is_root());
        loop {
            let Some(handle) = self.handle_of(task) else { return true };
            let next = self.draw(task, &handle, end, names);
            let begun = is_remote.then(Instant::now);
            O::handle(self, Batch { task, handle: &handle, entries: names });
            drop(handle);
            if std::mem::take(&mut self.is_away) {
                task.come_back();
            }
            // The operation may have left jobs to others.
            first_child = first_child.min(self.stack.len());
            self.handled += names.slots.len() as u64;
            if let Some(begun) = begun {
                self.learn(begun.elapsed(), names.slots.len(), &task.node);
            }
            if self.operation.is_stopped() || next == Next::End {
                return true;
            }
            // In a listed walk a directory comes right after its name. Otherwise the children of
            // one chunk come before the next chunk, so that only they wait.
            if self.stack.len() > first_child {
                if task.children == Children::OneByOne {
                    return false;
                }
                if is_listed || next == Next::Chunk || task.node.is_root() && task.held.is_none() {
                    let job = self.wait(task);
                    self.stack.insert(first_child, job);
                    return false;
                }
            }
            first_child -= self.share(Some(task)).min(first_child);
            if end == End::Back && task.is_overfull() {
                return true;
            }
        }
    }

    /// Returns the descriptors of a directory for one batch, or reports that the open failed.
    fn handle_of(&self, task: &Task<O::Directory>) -> Option<Arc<Open<Handle<O>>>> {
        if let Some(held) = &task.held {
            return Some(Arc::clone(held));
        }
        let opened = self.operation.directories().of(&task.node);
        opened.inspect_err(|error| self.operation.reopen_failed(&task.node, *error)).ok()
    }

    fn draw(
        &mut self,
        task: &Task<O::Directory>,
        handle: &Open<Handle<O>>,
        end: End,
        names: &mut Entries,
    ) -> Next {
        if self.operation.is_stopped() {
            names.clear();
            return Next::End;
        }
        let one_by_one =
            self.operation.order() == Order::Listed || task.children == Children::OneByOne;
        let most =
            if one_by_one { 1 } else { O::most_entries(self, &task.node).min(self.batch_entries) };
        let chunk = self.operation.chunk(&task.node);
        let mut reader = task.reader.lock();
        let (next, error) =
            reader.draw(stream::<O>(task, handle), (chunk, end, most), &mut self.memory, names);
        drop(reader);
        self.operation.select(&task.node, handle, names);
        if let Some(error) = error {
            self.operation.read_failed(&task.node, error);
        }
        next
    }

    /// Suspends a directory until its children are done. Closes its descriptors if descriptors are
    /// few and no other worker is in the directory.
    fn wait(&mut self, task: &Arc<Task<O::Directory>>) -> Job<O> {
        let Some(handle) = &task.held else { return Job::Continue(Arc::clone(task)) };
        if !self.operation.directories().is_tight() || task.is_shared() || task.node.is_root() {
            return Job::Continue(Arc::clone(task));
        }
        self.crew.pool.withdraw(&Joinable::Directory(Arc::clone(task)));
        let mut reader = task.reader.lock();
        // Another worker may have joined since the check above; then the directory stays as it is.
        if task.is_shared() {
            return Job::Continue(Arc::clone(task));
        }
        let chunk = self.operation.chunk(&task.node);
        if let Err(error) = reader.read_on(stream::<O>(task, handle), chunk, &mut self.memory) {
            self.operation.read_failed(&task.node, error);
        }
        Job::Parked(Box::new(task.parked(std::mem::take(&mut reader))))
    }

    fn unpark(&mut self, parked: Parked<O::Directory>) {
        let Parked { node, reader, room } = parked;
        match self.operation.directories().of(&node) {
            Ok(handle) => {
                let task = Arc::new(Task::new(node, reader, room).holding(handle));
                self.run_task(&task, End::Front);
            }
            Err(error) => {
                self.operation.reopen_failed(&node, error);
                self.release(node);
            }
        }
    }

    /// Releases a directory that was pushed and is not entered.
    pub fn release_child(&mut self, parent: Arc<Node<O::Directory>>) {
        self.continue_list(&parent);
        self.release(parent);
    }

    /// Releases one unit of work that a directory waits for, and finishes every directory that
    /// this completes.
    pub fn release(&mut self, node: Arc<Node<O::Directory>>) {
        let mut node = node;
        while node.settle_one() {
            match O::finish(self, &node) {
                Finish::Done => {}
                Finish::Again(reader) => {
                    node.start_over();
                    self.stack.push(Job::Continue(Arc::new(Task::new(node, reader, 1))));
                    return;
                }
            }
            let Some(parent) = node.parent.clone() else { return };
            self.operation.directories().forget(&node);
            self.continue_list(&parent);
            node = parent;
        }
    }

    /// If operands are handled one by one, continues with the next operand when one is finished.
    fn continue_list(&mut self, parent: &Node<O::Directory>) {
        // A unit of another process has a list of its own above it, which waits for nothing else.
        if let Some(list) = &self.crew.list
            && std::ptr::eq(parent, &raw const *list.node)
        {
            self.stack.push(Job::Continue(Arc::clone(list)));
        }
    }

    /// Shares work if there is demand. Returns how many jobs left the stack.
    fn share(&mut self, task: Option<&Arc<Task<O::Directory>>>) -> usize {
        let is_small = self.handled < O::ALONE_ENTRIES && !self.is_waiting;
        if is_small || self.operation.order() == Order::Listed {
            return 0;
        }
        let demand = self.crew.pool.demand();
        if demand == Demand::None {
            return 0;
        }
        if let Some(task) = task.filter(|task| self.is_waiting && task.node.is_remote()) {
            task.set_room(self.operation.waiting_room(&task.node));
        }
        let before = self.stack.len();
        let joinable = task.filter(|task| !task.is_full() || self.crew.pool.is_asked());
        if before < 2 && joinable.is_none() {
            return 0;
        }
        if demand == Demand::Unstarted {
            self.start_for(before / 2);
        }
        if before > 1 {
            self.crew.pool.donate(&mut self.stack);
        } else if let Some(task) = joinable {
            self.crew.pool.offer(&Joinable::Directory(Arc::clone(task)));
        }
        before - self.stack.len()
    }

    /// Starts a worker for each of this many jobs if workers wait, otherwise one worker, as far as
    /// the pool allows.
    fn start_for(&self, jobs: usize) {
        for _ in 0..if self.is_waiting { jobs.max(1) } else { 1 } {
            if self.crew.pool.demand() == Demand::Unstarted {
                self.start();
            }
        }
    }

    /// Starts another worker and returns whether it did. If the kernel refuses a thread, continues
    /// without it.
    pub fn start(&self) -> bool {
        let Some(number) = self.crew.pool.enlist() else { return false };
        let is_started = self.threads.start(self.crew, number).is_ok();
        if is_started {
            self.operation.started();
        } else {
            self.crew.pool.cancel();
        }
        is_started
    }

    /// Returns whether there is demand for work.
    #[must_use]
    pub fn demand(&self) -> Demand {
        self.crew.pool.demand()
    }

    /// Starts to measure whether this worker waits, if more workers could make a difference, or if there are
    /// others and it is not known yet that it does: a worker that waits shares what a busy one would do alone.
    pub fn watch_for_waiting(&mut self, is_remote: bool) {
        let may_share = self.crew.workers.waiting > 1 && !self.is_waiting;
        let is_of_use = self.crew.pool.can_grow() || may_share;
        self.meter = (is_remote && is_of_use && self.operation.may_grow()).then(Meter::begin);
        self.is_waiting &= is_remote;
    }

    /// Lets the pool grow if this worker has mostly waited during its last steps.
    pub fn grow_if_waiting(&mut self, steps: usize) {
        if let Some(meter) = &mut self.meter
            && meter.is_waiting(steps as u64)
        {
            self.is_waiting = true;
            self.crew.pool.grow();
        }
    }

    /// Starts more workers after a range of a large file that is on offer, if this worker waits.
    pub fn start_for_ranges(&mut self) {
        self.grow_if_waiting(1);
        // One more after each range: at that point it is certain that there is more than one
        // range.
        if self.crew.pool.demand() == Demand::Unstarted {
            self.start_for(self.crew.workers.waiting);
        }
    }

    /// Adjusts the size of the next batch and starts more workers if necessary, from the time of a
    /// batch.
    fn learn(&mut self, time: Duration, entries: usize, node: &Node<O::Directory>) {
        if time > BATCH_TIME {
            self.batch_entries = (self.batch_entries / 2).max(1);
        } else if entries == self.batch_entries {
            self.batch_entries = (self.batch_entries * 2).min(O::most_entries(self, node));
        }
        self.grow_if_waiting(entries);
    }
}

/// Handle of an operation's directories.
pub(super) type Handle<O> = <<O as Operation>::Directory as crate::node::Directory>::Handle;

pub(super) fn stream<'a, O: Operation>(
    task: &Task<O::Directory>,
    handle: &'a Open<Handle<O>>,
) -> Stream<'a> {
    let hold = if task.held.is_some() { Hold::Open } else { Hold::MayClose };
    let fd = <O::Directory as crate::node::Directory>::entries(handle);
    Stream { fd, generation: handle.generation, hold }
}
