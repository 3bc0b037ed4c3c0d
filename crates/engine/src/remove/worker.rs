//! A worker: takes directories, draws batches of their entries, shares what others can do.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use haul_io::quirk::Latency;
use haul_sys::Errno;
use haul_sys::fs::DirectoryBuffer;

use super::finish::release;
use super::monitor::What;
use super::node::Node;
use super::reader::{Drawn, End, Names, Reader};
use super::run::{Joinable, Operands, Run};
use super::{directory, entry, operand};
use crate::monitor::Shard;
use crate::schedule::meter::Meter;
use crate::schedule::pool::{Demand, Work};
use crate::walk::node::Identity;

/// Entries that a worker removes before it asks for company: starting a thread costs as much as
/// removing some twenty files, so a run of a few files never does.
const ALONE_ENTRIES: u64 = 64;

/// Time for one entry beyond which it must have been a large file: its pages and blocks are given
/// up outside the directory's lock, so another worker can well remove the next one meanwhile. A
/// small file takes 5 to 20 microseconds; one that a disk has to be asked for is just as welcome to
/// have company.
const LARGE: Duration = Duration::from_micros(100);

/// How long a batch may take where each removal is a trip: then others soon hear that there is work.
const BATCH_TIME: Duration = Duration::from_millis(2);

/// What waits on a worker's stack.
pub(super) enum Job {
    /// A directory to look into.
    Enter(Enter),
    /// A directory of which some entries are gone.
    Resume(Arc<Task>),
}

/// A directory to enter.
pub(super) struct Enter {
    pub(super) parent: Arc<Node>,
    pub(super) name: CString,
    /// What an operand was when the guards were tried; anything else is refused.
    pub(super) expected: Option<Identity>,
}

/// A directory that is being worked on, by one worker or several.
pub(super) struct Task {
    pub(super) node: Arc<Node>,
    reader: Mutex<Reader>,
    workers: AtomicUsize,
    /// Its entries take long, so that each batch is one entry and company is welcome.
    has_large: AtomicBool,
}

impl Task {
    pub(super) fn new(node: Arc<Node>, reader: Reader) -> Task {
        Task {
            node,
            reader: Mutex::new(reader),
            workers: AtomicUsize::new(1),
            has_large: AtomicBool::new(false),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.room() <= 0
    }

    pub(super) fn join(&self) {
        self.node.owe();
        self.workers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many more workers are welcome, or, below zero, how many are too many.
    fn room(&self) -> isize {
        let most = if self.has_large.load(Ordering::Relaxed) {
            self.node.delete_profile.large_deleters
        } else {
            self.node.delete_profile.deleters
        };
        most.cast_signed() - self.workers.load(Ordering::Relaxed).cast_signed()
    }
}

pub(super) struct Worker<'scope, 'env> {
    pub(super) run: &'env Run<'env>,
    scope: &'scope Scope<'scope, 'env>,
    pub(super) shard: &'env Shard,
    buffer: Option<DirectoryBuffer>,
    pub(super) stack: Vec<Job>,
    handled: u64,
    /// Watches whether this worker waits, where more of them would then help.
    meter: Option<Meter>,
    /// Whether it mostly waited when it was looked at last.
    is_waiting: bool,
    /// Entries of the next batch where each is a trip.
    remote_entries: usize,
}

impl<'scope, 'env> Worker<'scope, 'env> {
    pub(super) fn new(
        run: &'env Run<'env>,
        scope: &'scope Scope<'scope, 'env>,
        number: usize,
    ) -> Worker<'scope, 'env> {
        // A control made for fewer workers than the request has: the counters would then be
        // shared, never wrong.
        let shard = &run.control.shards[number % run.control.shards.len()];
        Worker {
            run,
            scope,
            shard,
            buffer: None,
            stack: Vec::new(),
            handled: 0,
            meter: None,
            is_waiting: number >= run.jobs,
            remote_entries: 1,
        }
    }

    /// Works until there is nothing left to do anywhere.
    pub(super) fn work(&mut self) {
        loop {
            let job = match self.stack.pop() {
                Some(job) => job,
                None => match self.run.pool.take() {
                    Work::Job(job) => job,
                    Work::Join(Joinable(task)) => {
                        self.run_task(&task, End::Back);
                        continue;
                    }
                    Work::Nothing => return,
                },
            };
            match job {
                Job::Enter(enter) => directory::enter(self, enter),
                Job::Resume(task) => self.run_task(&task, End::Front),
            }
            self.share(None);
        }
    }

    /// Removes the entries of a directory, until there are none or others should come first.
    pub(super) fn run_task(&mut self, task: &Arc<Task>, end: End) {
        let mut names = Names::default();
        let mut first_child = self.stack.len();
        self.watch_out(&task.node);
        loop {
            let drawn = self.draw(task, &mut names, end);
            self.batch(task, &names);
            if self.run.stopped() || drawn == Drawn::End {
                break;
            }
            // In a listed run a directory comes right after its name; otherwise the children of
            // one chunk come before the next, so that only they wait.
            if self.stack.len() > first_child {
                if task.node.lists_operands() && self.run.operands == Operands::OneByOne {
                    // The operand's own end goes on with the list.
                    return;
                }
                if self.run.is_listed() || drawn == Drawn::Boundary || task.node.lists_operands() {
                    self.stack.insert(first_child, Job::Resume(Arc::clone(task)));
                    return;
                }
            }
            first_child -= self.share(Some(task)).min(first_child);
            if end == End::Back && task.room() < 0 {
                break;
            }
        }
        task.workers.fetch_sub(1, Ordering::Relaxed);
        self.run.pool.withdraw(&Joinable(Arc::clone(task)));
        release(self, Arc::clone(&task.node));
    }

    fn draw(&mut self, task: &Task, names: &mut Names, end: End) -> Drawn {
        names.clear();
        let node = &task.node;
        let handle = match self.run.cache.of(node) {
            Ok(handle) if !self.run.stopped() => handle,
            Ok(_) => return Drawn::End,
            Err(error) => {
                node.keep();
                self.run.report(What::Remove, node.path(), Some(error.errno));
                return Drawn::End;
            }
        };
        let one_by_one = node.lists_operands() && self.run.operands == Operands::OneByOne;
        let most = match node.delete_profile.latency {
            _ if self.run.is_listed() || one_by_one => 1,
            Latency::Remote => self.remote_entries.min(self.run.throttle.batch()),
            Latency::Local if task.has_large.load(Ordering::Relaxed) => 1,
            Latency::Local => self.run.throttle.batch(),
        };
        let mut reader = task.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (&handle, node.delete_profile, self.run.policy.order);
        let (drawn, trouble) = reader.draw(from, &mut self.buffer, names, (most, end));
        drop(reader);
        // A directory that somebody else has removed has nothing left to read.
        if let Some(error) = trouble.filter(|error| error.errno != Errno::NOENT) {
            node.keep();
            self.run.report(What::ReadDirectory, node.path(), Some(error.errno));
        }
        drawn
    }

    /// Removes what was drawn.
    fn batch(&mut self, task: &Arc<Task>, names: &Names) {
        if names.slots.is_empty() {
            return;
        }
        let count = names.slots.len();
        self.run.throttle.admit(count as u64, self.run.control.stop);
        let node = &task.node;
        let begun = Instant::now();
        if node.lists_operands() {
            operand::remove(self, node, names);
        } else {
            entry::remove(self, node, names);
        }
        let took = begun.elapsed();
        self.handled += count as u64;
        self.run.throttle.rest(took, self.run.control.stop);
        if node.delete_profile.latency == Latency::Remote {
            self.learn(took, count);
        }
        let each = took / u32::try_from(count).unwrap_or(u32::MAX);
        if each > LARGE && !self.run.is_listed() {
            task.has_large.store(true, Ordering::Relaxed);
        } else if count == 1 {
            task.has_large.store(false, Ordering::Relaxed);
        }
    }

    /// Begins to watch whether this worker waits, where that could make a difference.
    fn watch_out(&mut self, node: &Node) {
        let is_remote = node.delete_profile.latency == Latency::Remote;
        let could_grow = self.run.pool.can_grow() && !self.run.throttle.is_limited();
        self.meter = (is_remote && could_grow).then(Meter::begin);
        self.is_waiting &= is_remote || node.lists_operands();
        self.remote_entries = 1;
    }

    /// Learns from a batch how long the next may be, and whether more workers are wanted.
    fn learn(&mut self, took: Duration, count: usize) {
        if took > BATCH_TIME {
            self.remote_entries = (self.remote_entries / 2).max(1);
        } else if count == self.remote_entries {
            self.remote_entries *= 2;
        }
        if let Some(meter) = &mut self.meter
            && meter.is_waiting(count as u64)
        {
            self.is_waiting = true;
            self.run.pool.grow();
        }
    }

    /// Gives work away where somebody wants it. Returns how many jobs left the stack.
    fn share(&mut self, task: Option<&Arc<Task>>) -> usize {
        if self.run.is_listed() || (self.handled < ALONE_ENTRIES && !self.is_waiting) {
            return 0;
        }
        let demand = self.run.pool.demand();
        if demand == Demand::None {
            return 0;
        }
        let before = self.stack.len();
        let joinable = task.filter(|task| !task.node.lists_operands() && task.room() > 0);
        if before < 2 && joinable.is_none() {
            return 0;
        }
        if demand == Demand::Unstarted {
            // One for each directory that is given away, where all that they will do is wait.
            for _ in 0..if self.is_waiting { (before / 2).max(1) } else { 1 } {
                self.start();
            }
        }
        if before > 1 {
            self.run.pool.donate(&mut self.stack);
        } else if let Some(task) = joinable {
            self.run.pool.offer(&Joinable(Arc::clone(task)));
        }
        before - self.stack.len()
    }

    /// Starts another worker; goes on without where threads are refused.
    fn start(&self) {
        let Some(number) = self.run.pool.enlist() else { return };
        let (run, scope) = (self.run, self.scope);
        let started = std::thread::Builder::new()
            .name(format!("haul-{number}"))
            .spawn_scoped(scope, move || Worker::new(run, scope, number).work());
        match started {
            Ok(_) => {
                run.control.workers.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => run.pool.cancel(),
        }
    }
}
