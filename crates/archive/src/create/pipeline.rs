//! The threads of creation: each walks the trees, describes entries and reads small files, or writes
//! members, as [`Turns`] says, and other threads move large files.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread::Scope;

use haul_io::Reflink;
use haul_tree::Meter;

use super::archive_file::Output;
use super::creator::Creator;
use super::entry::{Data, Described, Failure, describe};
use super::found::Found;
use super::placing::Placing;
use super::plan::{Monitor, Operand, Plan};
use super::sink::Sink;
use super::turns::{Bounds, Turn, Turns};
use super::walk::{Filter, LastDevice, Rules, Step, Walk};
use super::work::{Batches, Item, Work};
use crate::descriptors::{are_few, share};
use crate::room::Room;
use crate::threads::builder;

/// Names that are described at a time.
const BATCH_NAMES: usize = 64;

/// Names of a batch while a thread has nothing to do, and of one on a server.
const BATCH_NAMES_MIN: usize = 4;

/// Batches in memory, for each thread: enough to be ahead of a target that waits for storage.
const BATCHES_PER_THREAD: usize = 8;

/// Directories that names in memory keep open at most, and those that stay open while what is below them is
/// walked.
const DIRECTORIES_MAX: usize = 256;
const LEVELS_MAX: usize = 64;

/// Bytes of small files in memory at most, beyond which only the next batch grows.
const BYTES_MAX: u64 = 32 << 20;

/// Open files that another thread will read. Each counts for a part of [`BYTES_MAX`].
const OPEN_FILES_MAX: usize = 64;

/// Bytes of small files of one batch that are not counted one by one.
const BYTES_FREE: u64 = 256 << 10;

/// What a run may have open, in a process that may have few descriptors.
struct Budget {
    batches: u64,
    names: usize,
    directories: u64,
    levels: usize,
}

impl Budget {
    fn new(plan: &Plan) -> Budget {
        // One at least for each thread that waits for a server.
        let batches = share(plan.workers).saturating_mul(BATCHES_PER_THREAD);
        Budget {
            batches: share(batches.max(plan.waiting_workers)) as u64,
            names: share(BATCH_NAMES),
            directories: share(DIRECTORIES_MAX) as u64,
            levels: share(LEVELS_MAX),
        }
    }
}

#[derive(Clone, Copy)]
struct Excluding<'m>(&'m (dyn Monitor + Sync), usize);

impl Filter for Excluding<'_> {
    fn is_excluded(&self, name: &[u8]) -> bool {
        self.0.is_excluded(name, self.1)
    }
}

/// Writes members for all operands. Blocks. Fails if the archive cannot be written; what is wrong with
/// single names, the monitor is told.
pub fn create<W: Output + Send>(
    operands: Vec<Operand>,
    plan: &Plan,
    monitor: &(dyn Monitor + Sync),
    sink: &mut Sink<W>,
) -> std::io::Result<()> {
    let budget = Budget::new(plan);
    let workers = share(plan.workers);
    let placing = Placing::new(workers, plan.data.clone(), plan.hashes, plan.stop);
    std::thread::scope(|scope| {
        let placing = &placing;
        let start = move || spawn(scope, workers, move || placing.work());
        let is_demanded = plan.data.reflink == Reflink::Always;
        let places = sink.has_offsets()
            && plan.may_read_elsewhere()
            && !are_few()
            && (!is_demanded || start());
        if is_demanded && !places {
            return Err(std::io::Error::other(
                "blocks cannot be shared (--reflink=always) with a device, with checkpoints, with \
                 --atime-preserve=replace, or with few descriptors (ulimit -n)",
            ));
        }
        // A thread costs as much as many small files.
        let later: Option<&(dyn Fn() -> bool + Sync)> = (!is_demanded).then_some(&start);
        let workers = (places.then_some(placing), later);
        let mut creator = Creator::new(plan, monitor, sink, workers);
        let created = creator.begin().and_then(|()| {
            members(Source::new(operands, plan, monitor, &budget), &budget, &mut creator)?;
            creator.end()
        });
        if created.is_err() {
            placing.abandon();
        }
        created
    })
}

/// Starts as many threads as possible, at most `count`. Returns whether there is one.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    work: impl Fn() + Copy + Send + 'scope,
) -> bool {
    (0..count).take_while(|_| builder().spawn_scoped(scope, work).is_ok()).count() > 0
}

/// Writes the members for everything that a source finds, by several threads, or by as many of them as can
/// be started; one of them is the caller's. Blocks.
fn members<'p, W: Output + Send>(
    source: Source<'p>,
    budget: &Budget,
    creator: &mut Creator<'p, W>,
) -> std::io::Result<()> {
    let plan = source.plan;
    let bytes_max = BYTES_MAX.min(plan.memory_bytes).max(BYTES_FREE);
    let threads = if plan.reads_ahead { share(plan.workers) } else { 1 };
    let bounds =
        Bounds { batches: budget.batches, directories: budget.directories, bytes: bytes_max };
    let turns = Turns::new(threads, bounds);
    let job = Job {
        plan,
        threads,
        helpers: Once::new(),
        started: AtomicUsize::new(threads),
        most: if plan.reads_ahead { share(plan.waiting_workers) } else { 1 },
        is_remote: AtomicBool::new(false),
        open_file_bytes: (bytes_max / share(OPEN_FILES_MAX) as u64).max(BYTES_FREE + 1),
        turns,
        source: Mutex::new(source),
        target: Mutex::new(Target { creator, failed: None }),
    };
    std::thread::scope(|scope| job.work(scope));
    let target = job.target.into_inner();
    target.failed.map_or(Ok(()), Err)
}

/// Where members go.
struct Target<'c, 'p, W> {
    creator: &'c mut Creator<'p, W>,
    failed: Option<std::io::Error>,
}

/// What all threads share. Only the thread whose turn it is locks the source or the target.
struct Job<'c, 'p, W> {
    plan: &'p Plan,
    /// Threads that work, the caller's included; the others start with the second batch.
    threads: usize,
    helpers: Once,
    /// Threads that were started, and the most of them if they wait for a server.
    started: AtomicUsize,
    most: usize,
    /// Whether the directory that was read last is on a server.
    is_remote: AtomicBool,
    /// What an open file counts for.
    open_file_bytes: u64,
    turns: Batches,
    source: Mutex<Source<'p>>,
    target: Mutex<Target<'c, 'p, W>>,
}

impl<W: Output + Send> Job<'_, '_, W> {
    /// Takes turns until there are no more.
    fn work<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut room = Room::default();
        let mut meter: Option<Meter> = None;
        while let Some(turn) = self.turns.next() {
            match turn {
                Turn::Walk => {
                    let mut source = self.source.lock();
                    let help = || self.help(scope);
                    let is_last = source.fill(&self.turns, help);
                    self.is_remote.store(source.is_remote(), Ordering::Relaxed);
                    drop(source);
                    self.turns.walked(is_last);
                }
                Turn::Describe(number, batch) => {
                    let names = batch.len() as u64;
                    match &mut meter {
                        Some(meter) => meter.resume(),
                        None => meter = self.meter(),
                    }
                    let has_held = self.describe(number, batch, &mut room);
                    // To wait for memory is to wait for the archive.
                    meter = meter.filter(|_| !has_held && self.may_grow());
                    if let Some(meter) = &mut meter {
                        if meter.is_waiting(names) {
                            self.grow(scope);
                        }
                        meter.pause();
                    }
                }
                Turn::Write(batch) => {
                    let mut target = self.target.lock();
                    if let Err(error) = target.creator.batch(batch) {
                        target.failed = Some(error);
                        self.turns.stop();
                    }
                    drop(target);
                    self.turns.written();
                }
            }
        }
    }

    fn may_grow(&self) -> bool {
        let is_remote = self.is_remote.load(Ordering::Relaxed);
        is_remote && self.started.load(Ordering::Relaxed) < self.most
    }

    /// Starts the other threads, once.
    fn help<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        self.helpers.call_once(|| {
            spawn(scope, self.threads - 1, || self.work(scope));
        });
    }

    /// Starts to measure whether this thread waits for a server, if more threads could make a difference.
    fn meter(&self) -> Option<Meter> {
        self.may_grow().then(Meter::begin)
    }

    /// Starts another thread, unless there are enough.
    fn grow<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        if self.started.fetch_add(1, Ordering::Relaxed) < self.most {
            spawn(scope, 1, || self.work(scope));
        }
    }

    /// Describes a batch. Returns whether that may have waited for memory. Blocks.
    fn describe(&self, number: u64, batch: Vec<Work>, room: &mut Room) -> bool {
        let (mut held, mut told) = (0, 0);
        let described = batch.into_iter().map(|work| match work {
            Work::Describe(found) => {
                let described = describe(found, self.plan, room);
                held += match described.answer.as_ref().map(|entry| &entry.data) {
                    Ok(Data::Bytes(bytes, _)) => bytes.len() as u64,
                    Ok(Data::File(_) | Data::Sparse(..)) => self.open_file_bytes,
                    _ => 0,
                };
                if held > told + BYTES_FREE {
                    self.turns.hold(number, held - told);
                    told = held;
                }
                Item::Entry(described)
            }
            Work::Pass(item) => *item,
        });
        let described = described.collect();
        self.turns.finish(number, described, told);
        told > 0
    }
}

/// The names below all operands, in order.
struct Source<'p> {
    operands: std::vec::IntoIter<Operand>,
    walk: Option<Walk<'p, Excluding<'p>>>,
    /// What was found and did not fit into a batch any more.
    left: Option<Work>,
    /// Names of a batch, directories that it may keep open, and those that the walk does.
    names: usize,
    directories: u64,
    levels: usize,
    /// The file system of the directory that was read last.
    last_device: LastDevice,
    /// Whether there may be more threads if they wait for a server.
    may_grow: bool,
    /// Whether there was a batch.
    has_begun: bool,
    plan: &'p Plan,
    monitor: &'p (dyn Monitor + Sync),
}

impl<'p> Source<'p> {
    fn new(
        operands: Vec<Operand>,
        plan: &'p Plan,
        monitor: &'p (dyn Monitor + Sync),
        budget: &Budget,
    ) -> Source<'p> {
        Source {
            operands: operands.into_iter(),
            walk: None,
            left: None,
            names: budget.names,
            directories: budget.directories,
            levels: budget.levels,
            last_device: LastDevice::default(),
            may_grow: plan.waiting_workers > plan.workers,
            has_begun: false,
            plan,
            monitor,
        }
    }

    /// Adds batches while there is room, and calls for help at each but the first. Returns whether there are
    /// no more. Blocks while directories are read.
    fn fill(&mut self, turns: &Batches, help: impl Fn()) -> bool {
        loop {
            let (batch, directories) = self.batch(turns);
            if batch.is_empty() {
                return true;
            }
            if self.has_begun {
                help();
            }
            self.has_begun = true;
            if !turns.add(batch, directories) {
                return false;
            }
        }
    }

    /// Returns the next batch, and the number of directories that its names keep open.
    fn batch(&mut self, turns: &Batches) -> (Vec<Work>, u64) {
        let mut batch = Vec::with_capacity(self.names);
        let (mut last, mut directories) = (None, 0);
        while let Some(work) = self.left.take().or_else(|| self.next()) {
            if let Work::Describe(found) = &work
                && last != Some(Arc::as_ptr(&found.parent))
            {
                if directories >= self.directories {
                    self.left = Some(work);
                    break;
                }
                last = Some(Arc::as_ptr(&found.parent));
                directories += 1;
            }
            batch.push(work);
            // The threads that start with the second batch have nothing to do yet.
            let is_starved = !self.has_begun || turns.is_starved();
            let is_enough = batch.len() >= BATCH_NAMES_MIN && is_starved;
            let most = if self.is_remote() { BATCH_NAMES_MIN } else { self.names };
            if batch.len() >= most.min(self.names) || is_enough {
                break;
            }
        }
        (batch, directories)
    }

    /// Returns whether names wait for a server, so that few make a batch, for more threads.
    fn is_remote(&self) -> bool {
        self.may_grow && self.walk.as_ref().map_or(self.last_device, Walk::last_device).is_remote()
    }

    fn next(&mut self) -> Option<Work> {
        loop {
            if let Some(step) = self.walk.as_mut().and_then(Walk::advance) {
                let item = match step {
                    Step::Entry(found) => return Some(Work::Describe(found)),
                    Step::Unknown(found, error) => {
                        Item::Entry(Described { found, answer: Err(Failure::Stat(error)) })
                    }
                    Step::Unreadable(name, error, is_operand) => {
                        Item::Unreadable(name, error, is_operand)
                    }
                    Step::Changed(name) => Item::Changed(name),
                    Step::Tagged(name, tag, scope) => Item::Tagged(name, tag.into_bytes(), scope),
                };
                return Some(Work::Pass(Box::new(item)));
            }
            if let Some(walk) = &self.walk {
                self.last_device = walk.last_device();
            }
            let operand = self.operands.next()?;
            self.walk = self.begin(operand);
        }
    }

    fn begin(&mut self, operand: Operand) -> Option<Walk<'p, Excluding<'p>>> {
        let filter = Excluding(self.monitor, operand.scope);
        // A name with a NUL names no file; the command line cannot have one.
        let name = CString::new(operand.name).ok()?;
        let found = Found::operand(operand.directory, name, operand.number);
        let rules = Rules {
            sort: self.plan.sort,
            follow: self.plan.follow,
            tags: &self.plan.tags,
            stays_on_device: self.plan.stays_on_device,
            open_levels: self.levels,
        };
        Some(Walk::new(filter, rules, (found, operand.recurses), self.last_device))
    }
}
