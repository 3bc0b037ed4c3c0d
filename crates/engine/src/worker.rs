//! A worker: takes jobs, draws batches of entries from directories, shares what others can join.

use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use haul_io::{Kit, Watch};
use haul_sys::fs::{DirectoryBuffer, Stat};

use crate::apply::{self, Batch};
use crate::error::What;
use crate::monitor::Shard;
use crate::run::{Joinable, Run};
use crate::schedule::budget::WAITING_BATCH;
use crate::schedule::finish::release;
use crate::schedule::meter::Meter;
use crate::schedule::pool::{Demand, Work};
use crate::walk::handles::Handles;
use crate::walk::node::{Node, Origin};
use crate::walk::reader::{Drawn, Names, Reader};

/// Entries that a worker handles before it asks for company: starting a thread costs as much as
/// copying a few files, so a run of a few files never does.
const ALONE_ENTRIES: u64 = 24;

/// The stack of a worker. Nothing here recurses and no frame holds a buffer, so an eighth of the
/// usual size leaves room to spare; it is what a run with little memory has to find.
const STACK_BYTES: usize = 256 << 10;

/// The most workers in one directory. Making a name takes about 40 % of the time of a small file,
/// and only one can do that at a time. A third worker makes 100,000 files in one directory slower
/// by a tenth (0.69 against 0.63 of GNU cp's time on ext4, 0.67 against 0.59 on XFS).
const DIRECTORY_WORKERS: usize = 2;

/// The same where they mostly wait. A new file then takes about six latency, of which making the name
/// takes two that no other worker of this directory can make meanwhile, so that three would do;
/// somebody has to find the next files, too.
const DIRECTORY_WAITING_WORKERS: usize = 6;

/// A batch is done in this time, or the next is smaller: long enough for 32 small files on a disk of
/// this machine, and a few latency to another.
const BATCH_TIME: Duration = Duration::from_millis(2);

/// What waits on a worker's stack.
pub(crate) enum Job {
    /// A directory that was made (or found) in the target and not looked into yet.
    Enter(Box<Enter>),
    /// A directory of which some entries are handled.
    Continue(Arc<Task>),
    /// The same, all read and closed meanwhile, for descriptors are few.
    Parked(Box<Parked>),
}

/// A directory whose names are in memory and whose descriptors are closed.
pub(crate) struct Parked {
    node: Arc<Node>,
    kind: TaskKind,
    reader: Reader,
}

/// A directory to enter.
pub(crate) struct Enter {
    pub(crate) parent: Arc<Node>,
    pub(crate) source_name: CString,
    pub(crate) target_name: Option<CString>,
    pub(crate) stat: Stat,
    /// The mode it was made with, or `None` if it was there.
    pub(crate) made: Option<u32>,
    /// Whether something may be in it: it was there, or an earlier run made it.
    pub(crate) origin: Origin,
    pub(crate) through_link: bool,
    pub(crate) target_through_link: bool,
    /// What is left of an operand's path below this directory, if only that is wanted of it.
    pub(crate) rest: Option<CString>,
}

/// A directory that is being worked on, by one worker or several.
pub(crate) struct Task {
    pub(crate) node: Arc<Node>,
    pub(crate) handles: Arc<Handles>,
    pub(crate) origin: Origin,
    /// Whom files belong to that are made here; unknown in a directory that was there before, for
    /// setgid bits and mount options have a say.
    pub(crate) new_owner: Option<(u32, u32)>,
    /// The mode of targets made here is changed by an inherited access-control list.
    pub(crate) inherits_acl: bool,
    reader: Mutex<Reader>,
    /// Held while names are made in the target: the kernel lets in one at a time, and waiting
    /// here costs less than spinning there.
    pub(crate) create: Mutex<()>,
    workers: AtomicUsize,
    /// The most of them.
    room: AtomicUsize,
}

/// What is known of a target directory, as far as what is made in it is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskKind {
    pub(crate) origin: Origin,
    pub(crate) new_owner: Option<(u32, u32)>,
    pub(crate) inherits_acl: bool,
}

impl Task {
    pub(crate) fn new(
        node: Arc<Node>,
        handles: Arc<Handles>,
        kind: TaskKind,
        reader: Reader,
    ) -> Task {
        let TaskKind { origin, new_owner, inherits_acl } = kind;
        Task {
            node,
            handles,
            origin,
            new_owner,
            inherits_acl,
            reader: Mutex::new(reader),
            create: Mutex::new(()),
            workers: AtomicUsize::new(1),
            room: AtomicUsize::new(DIRECTORY_WORKERS),
        }
    }

    pub(crate) fn kind(&self) -> TaskKind {
        TaskKind { origin: self.origin, new_owner: self.new_owner, inherits_acl: self.inherits_acl }
    }

    /// Tells whether as many work here as can.
    pub(crate) fn is_full(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.room.load(Ordering::Relaxed)
    }

    pub(crate) fn join(&self) {
        self.node.owe();
        self.workers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a worker is through with a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Done,
    /// It is on the stack, below its children.
    Waiting,
}

/// One worker of a run.
pub(crate) struct Worker<'scope, 'env> {
    pub(crate) run: &'env Run<'env>,
    scope: &'scope Scope<'scope, 'env>,
    pub(crate) shard: &'env Shard,
    pub(crate) kit: Kit,
    buffer: Option<DirectoryBuffer>,
    pub(crate) stack: Vec<Job>,
    names: Names,
    batch: Batch,
    /// The memory of a directory's entries that were handed out.
    spare: Names,
    handled: u64,
    /// Entries of the next batch.
    batch_entries: usize,
    meter: Option<Meter>,
    /// Whether it was started because others waited.
    is_extra: bool,
    /// Whether it mostly waited when it was looked at last.
    is_waiting: bool,
}

impl<'scope, 'env> Worker<'scope, 'env> {
    pub(crate) fn new(
        run: &'env Run<'env>,
        scope: &'scope Scope<'scope, 'env>,
        number: usize,
    ) -> Worker<'scope, 'env> {
        // There is a shard for every worker that the budget allows; a missing one could only be
        // shared, never wrong.
        let shard = &run.control.shards[number % run.control.shards.len()];
        Worker {
            run,
            scope,
            shard,
            kit: if run.budget.pipes { Kit::new() } else { Kit::short_of_descriptors() },
            buffer: None,
            stack: Vec::new(),
            names: Names::default(),
            batch: Batch::default(),
            spare: Names::default(),
            handled: 0,
            batch_entries: 1,
            meter: None,
            is_extra: number >= run.budget.workers,
            is_waiting: number >= run.budget.workers,
        }
    }

    pub(crate) fn watch(&self) -> Watch<'env> {
        Watch {
            stop: self.run.control.stop,
            bytes: &self.shard.bytes,
            pace: self.run.pace.as_ref(),
        }
    }

    /// Works until there is nothing left to do anywhere.
    pub(crate) fn work(&mut self) {
        loop {
            let job = match self.stack.pop() {
                Some(job) => job,
                None => match self.run.pool.take() {
                    Work::Job(job) => job,
                    Work::Join(Joinable::Directory(task)) => {
                        self.run_task(&task);
                        continue;
                    }
                    Work::Join(Joinable::File(file)) => {
                        apply::shared::work(self, &file);
                        continue;
                    }
                    Work::Nothing => return,
                },
            };
            match job {
                Job::Enter(enter) => apply::directory::enter(self, *enter),
                Job::Continue(task) => self.run_task(&task),
                Job::Parked(parked) => self.unpark(*parked),
            }
        }
    }

    /// Handles the entries of a directory, until there are none or others should come first.
    pub(crate) fn run_task(&mut self, task: &Arc<Task>) {
        // A worker works on one directory at a time, so what it gathers entries in serves them all.
        let mut names = std::mem::take(&mut self.names);
        let mut batch = std::mem::take(&mut self.batch);
        let left = self.draw_batches(task, &mut names, &mut batch);
        self.names = names;
        self.batch = batch;
        if left == Left::Done {
            self.run.pool.withdraw(&Joinable::Directory(Arc::clone(task)));
            self.leave(task);
        }
    }

    fn draw_batches(&mut self, task: &Arc<Task>, names: &mut Names, batch: &mut Batch) -> Left {
        let mut first_child = self.stack.len();
        let far = task.node.pair.is_remote();
        self.batch_entries = if far { 1 } else { self.most_entries() };
        self.watch_out(far);
        loop {
            let begun = far.then(Instant::now);
            let drawn = self.draw(task, names);
            apply::run(self, task, names, batch);
            self.handled += names.slots.len() as u64;
            if let Some(begun) = begun {
                self.learn(begun.elapsed(), names.slots.len());
            }
            if self.run.stopped() || drawn == Drawn::End {
                return Left::Done;
            }
            // In a listed run a directory comes right after its name; otherwise the children of
            // one buffer come before the next buffer, so that only they wait.
            let children = self.stack.len() > first_child;
            if children && (self.run.is_listed() || drawn == Drawn::Boundary) {
                let job = self.wait(task);
                self.stack.insert(first_child, job);
                return Left::Waiting;
            }
            first_child -= self.share(task).min(first_child);
        }
    }

    /// Puts a directory by until its children are done; without its descriptors, where they are few
    /// and nobody else works on it.
    fn wait(&mut self, task: &Arc<Task>) -> Job {
        if !self.run.cache.is_tight() || task.workers.load(Ordering::Relaxed) > 1 {
            return Job::Continue(Arc::clone(task));
        }
        self.run.pool.withdraw(&Joinable::Directory(Arc::clone(task)));
        let mut reader = task.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have joined since the look above; then it stays as it is.
        if task.workers.load(Ordering::Relaxed) > 1 {
            return Job::Continue(Arc::clone(task));
        }
        if let Some(error) = reader.read_on(task.handles.source(), &mut self.buffer) {
            self.run.fail_node(&task.node, What::ReadDirectory, Some(error.errno));
        }
        Job::Parked(Box::new(Parked {
            node: Arc::clone(&task.node),
            kind: task.kind(),
            reader: std::mem::take(&mut reader),
        }))
    }

    fn unpark(&mut self, parked: Parked) {
        let Parked { node, kind, reader } = parked;
        match self.run.cache.of(&node) {
            Ok(handles) => {
                let task = Arc::new(Task::new(node, handles, kind, reader));
                self.run_task(&task);
            }
            Err((_, error)) => {
                self.run.fail_node(&node, What::OpenDirectory, Some(error.errno));
                release(self.run, node);
            }
        }
    }

    fn draw(&mut self, task: &Task, names: &mut Names) -> Drawn {
        if self.run.stopped() {
            names.clear();
            return Drawn::End;
        }
        let most = if self.run.is_listed() { 1 } else { self.batch_entries };
        let mut reader = task.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let (drawn, trouble) =
            reader.draw(task.handles.source(), (&mut self.buffer, &mut self.spare), names, most);
        drop(reader);
        if let Some(error) = trouble {
            self.run.fail_node(&task.node, What::ReadDirectory, Some(error.errno));
        }
        drawn
    }

    fn leave(&self, task: &Task) {
        task.workers.fetch_sub(1, Ordering::Relaxed);
        release(self.run, Arc::clone(&task.node));
    }

    /// Gives work away where somebody wants it. Returns how many jobs left the stack.
    fn share(&mut self, task: &Arc<Task>) -> usize {
        if self.run.is_listed() || (self.handled < ALONE_ENTRIES && !self.is_waiting) {
            return 0;
        }
        let before = self.stack.len();
        match self.run.pool.demand() {
            Demand::None => return 0,
            Demand::Idle => {}
            Demand::Unstarted => self.start_for(before / 2),
        }
        if self.is_waiting {
            task.room.store(DIRECTORY_WAITING_WORKERS, Ordering::Relaxed);
        }
        if before > 1 {
            self.run.pool.donate(&mut self.stack);
        } else if !task.is_full() {
            self.run.pool.offer(&Joinable::Directory(Arc::clone(task)));
        }
        before - self.stack.len()
    }

    /// Starts a worker for each of so many jobs, or one, as far as the pool allows.
    fn start_for(&self, jobs: usize) {
        let count = if self.is_waiting { jobs.max(1) } else { 1 };
        for _ in 0..count {
            if self.run.pool.demand() == Demand::Unstarted {
                self.start();
            }
        }
    }

    /// Entries of a batch at most: those that were started because others wait have fewer
    /// descriptors.
    fn most_entries(&self) -> usize {
        let batch = self.run.budget.batch;
        if self.is_extra { batch.min(WAITING_BATCH) } else { batch }
    }

    /// Begins to watch whether this worker waits, where that could make a difference.
    pub(crate) fn watch_out(&mut self, far: bool) {
        let could_grow = self.run.pool.can_grow() && self.run.pace.is_none();
        self.meter = (far && could_grow).then(Meter::begin);
        self.is_waiting &= far;
    }

    /// Learns from a batch how long the next may be, and whether more workers are wanted.
    fn learn(&mut self, time: Duration, entries: usize) {
        if time > BATCH_TIME {
            self.batch_entries = (self.batch_entries / 2).max(1);
        } else if entries == self.batch_entries {
            self.batch_entries = (self.batch_entries * 2).min(self.most_entries());
        }
        self.grow_if_waiting(entries);
    }

    /// Lets the pool grow if this worker has mostly waited for its last steps.
    pub(crate) fn grow_if_waiting(&mut self, steps: usize) {
        if let Some(meter) = &mut self.meter
            && meter.is_waiting(steps as u64)
        {
            self.is_waiting = true;
            self.run.pool.grow();
        }
    }

    /// Calls for more workers after a range of a large file, which stands offered, if this one waits.
    pub(crate) fn company_for_ranges(&mut self) {
        self.grow_if_waiting(1);
        // One more after each range: by then it is known that there is more than one to move.
        if self.run.pool.demand() == Demand::Unstarted {
            self.start_for(self.run.budget.waiting_workers);
        }
    }

    /// Starts another worker and tells whether it did; goes on without where threads are refused.
    pub(crate) fn start(&self) -> bool {
        let Some(number) = self.run.pool.enlist() else { return false };
        let (run, scope) = (self.run, self.scope);
        let started = std::thread::Builder::new()
            .name(format!("haul-{number}"))
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, move || Worker::new(run, scope, number).work());
        if started.is_ok() {
            run.control.workers.fetch_add(1, Ordering::Relaxed);
        } else {
            run.pool.cancel();
        }
        started.is_ok()
    }
}
