//! What is to be read, and how: decided once, from what the file is.
//!
//! What is cached is read from the cache by plain calls, which nothing beats; what is not comes past
//! the cache with many requests in flight, and leaves nothing behind. Files without a size, and
//! descriptors that other processes share, are read in order from where they stand.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_sys::Result;
use haul_sys::data::{Advice, fadvise, seek_tell};
use haul_sys::fs::{Kind, fstat, fstatfs, open_anew};

use super::NEVER;
use super::by_call::ByCall;
use super::by_ring::ByRing;
use super::by_threads::ByThreads;
use super::queue::Queue;
use crate::cache::ledger::Put;
use crate::cache::residency::{Asked, absent};
use crate::method::policy::{Cache, DataPolicy};
use crate::method::shape::may_be_made_up;
use crate::method::sides::{Way, go_direct};
use crate::system::gentle;
use crate::system::quirk::Quirk;
use crate::system::quirk::{HoleMap, Latency, ReportedSize, of_magic};
use crate::system::segment::Map;

/// Bytes of one request to a device of this machine: a huge page, which the block layer takes in one
/// piece where it would cut 512 small ones up. 1 GiB cold took 0.96 s with 16 × 1 MiB on their way
/// and 0.40 s with 8 × 2 MiB.
pub(super) const NEAR_BYTES: usize = 2 << 20;

/// Bytes of one request to a server: what FUSE and most mounts of NFS and SMB take at most.
pub(super) const FAR_BYTES: usize = 1 << 20;

/// Requests in flight to a device of this machine.
pub(super) const DEPTH_NEAR: usize = 8;

/// Requests in flight to a server: at 5 ms a trip and 1 MiB a request this is 6 GiB/s.
pub(super) const DEPTH_FAR: usize = 32;

/// The most memory of one stream's requests in flight.
const MEMORY_BYTES: usize = 256 << 20;

/// From this size on an input counts as large: its pages are not left behind, and requests past the
/// cache are worth their set-up. Below it, what is read is likely to be read again.
pub(super) const LARGE_BYTES: u64 = 8 << 20;

/// Below this size even a request for direct reads gets uncached ones: there is nothing to overlap.
const DIRECT_BYTES: u64 = 1 << 20;

/// Whose the open file description is.
#[derive(Clone, Debug)]
pub enum Source {
    /// Ours alone: it was opened for this stream, no other process uses its position and flags.
    Own(Arc<OwnedFd>),
    /// Shared, as standard input is: it is read from where it stands, and its position moves on with
    /// what is delivered. A large file is opened anew for that, if it may be.
    Shared(Arc<OwnedFd>),
}

impl Source {
    pub(super) fn file(&self) -> &Arc<OwnedFd> {
        match self {
            Source::Own(file) | Source::Shared(file) => file,
        }
    }
}

/// Opens a large file anew that other processes share, so that offsets and flags are ours. Returns it
/// and where the shared one stands.
pub(super) fn open_own(shared: &Arc<OwnedFd>) -> Option<(Arc<OwnedFd>, u64)> {
    let stat = fstat(shared).ok().filter(|stat| stat.kind() == Kind::Regular)?;
    let at = seek_tell(shared).ok()?;
    if stat.size.saturating_sub(at) < LARGE_BYTES {
        return None;
    }
    let own = open_anew(shared).ok()?;
    fstat(&own).ok().filter(|found| found.same_file(&stat))?;
    Some((Arc::new(own), at))
}

/// What is wanted of a reader.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// The page cache, the size of requests, how many are in flight. `Auto` leaves nothing behind
    /// of files of 8 MiB and more but what was cached before, and of smaller ones what the run's ledger
    /// admits.
    pub policy: DataPolicy,
    /// The first byte that is wanted.
    pub offset: u64,
    /// How many bytes are wanted; `None` is all there are.
    pub length: Option<u64>,
    /// How many blocks the caller may hold at once.
    pub held: usize,
    /// How many threads may copy from the page cache at a time. One is enough for a caller that takes no
    /// less time over the bytes than a copy of them.
    pub copiers: usize,
    /// Ends the reading when it is set.
    pub stop: &'static AtomicBool,
}

impl ReadPlan {
    /// Returns the plan for all of a file, one block at a time.
    #[must_use]
    pub fn whole() -> ReadPlan {
        ReadPlan {
            policy: DataPolicy::PLAIN,
            offset: 0,
            length: None,
            held: 1,
            copiers: 1,
            stop: &NEVER,
        }
    }
}

/// What becomes of the source's pages behind the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    Stay,
    Go,
    /// These were not cached before, and go.
    GoIn(Vec<Range<u64>>),
}

/// How a source is read.
#[derive(Debug)]
pub(super) struct ReadStrategy {
    /// Whether offsets mean anything.
    pub(super) positioned: bool,
    /// The reported size.
    pub(super) reported_bytes: u64,
    /// Allocated bytes, as `stat` reported them.
    pub(super) allocated_bytes: u64,
    /// Whether a file may end before that size although nothing happened to it.
    pub(super) is_guess: bool,
    pub(super) way: Way,
    /// What offsets and lengths are multiples of.
    pub(super) align: u64,
    pub(super) map: Map,
    pub(super) pages: Pages,
    /// What the run's ledger counts, until it is read.
    pub(super) put: Option<Put>,
    pub(super) executor: Executor,
    pub(super) request_bytes: usize,
    pub(super) depth: usize,
    /// Why it is not direct although that was asked for.
    pub(super) not_direct: Option<haul_sys::CallError>,
}

/// Which executor a strategy asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Executor {
    Calls,
    Ring,
    Threads,
}

/// Looks at a source and decides. Asks only a few questions of files that are small.
pub(super) fn decide(source: &Source, plan: &ReadPlan) -> Result<ReadStrategy> {
    let file = source.file();
    let stat = fstat(file)?;
    let mut strategy = ReadStrategy {
        positioned: false,
        reported_bytes: 0,
        allocated_bytes: 0,
        is_guess: false,
        way: Way::Cached,
        align: 1,
        map: Map::Dense,
        pages: Pages::Stay,
        put: None,
        executor: Executor::Calls,
        request_bytes: plan.policy.request_bytes(crate::system::kit::BUFFER_BYTES),
        depth: 1,
        not_direct: None,
    };
    if matches!(source, Source::Shared(_)) || stat.kind() != Kind::Regular || stat.size == 0 {
        return Ok(strategy);
    }
    let quirk = of_magic(fstatfs(file)?.magic);
    if quirk.reported_size == ReportedSize::Guessed {
        return Ok(strategy);
    }
    strategy.positioned = true;
    strategy.reported_bytes = stat.size;
    strategy.allocated_bytes = stat.allocated_bytes();
    strategy.is_guess = may_be_made_up(&stat, quirk);
    if stat.may_have_holes() && quirk.hole_map == HoleMap::Trusted {
        strategy.map = Map::Ask;
    }
    let end = plan.length.map_or(u64::MAX, |length| plan.offset.saturating_add(length));
    let wanted = stat.size.min(end).saturating_sub(plan.offset);
    choose_way(&mut strategy, file, plan, quirk, wanted);
    Ok(strategy)
}

fn choose_way(
    strategy: &mut ReadStrategy,
    file: &Arc<OwnedFd>,
    plan: &ReadPlan,
    quirk: &'static Quirk,
    wanted: u64,
) {
    let is_large = wanted >= LARGE_BYTES;
    let quiet = if wanted >= DIRECT_BYTES { Way::Direct } else { Way::Uncached };
    let restore = |strategy: &mut ReadStrategy| {
        let missing = absent(Asked { fd: file.as_fd(), quirk }, 0..strategy.reported_bytes);
        let bytes: u64 = missing.iter().map(|range| range.end - range.start).sum();
        strategy.pages = Pages::GoIn(missing);
        if bytes < strategy.reported_bytes / 2 { Way::Cached } else { quiet }
    };
    let way = match plan.policy.cache {
        Cache::Keep => Way::Cached,
        Cache::Auto if !is_large => {
            strategy.put = plan.policy.ledger.put(wanted, wanted);
            if strategy.put.is_some() { Way::Cached } else { restore(strategy) }
        }
        Cache::Auto | Cache::Restore => restore(strategy),
        Cache::Drop => {
            strategy.pages = Pages::Go;
            quiet
        }
        Cache::Direct => {
            strategy.pages = Pages::Go;
            Way::Direct
        }
    };
    strategy.way = way;
    if way == Way::Direct {
        match go_direct_as(file, quirk) {
            Ok(align) => strategy.align = u64::from(align),
            Err(error) => {
                strategy.way = Way::Uncached;
                strategy.not_direct = (plan.policy.cache == Cache::Direct).then_some(error);
            }
        }
    }
    strategy.choose_executor(plan, quirk.latency, wanted);
    if strategy.way == Way::Cached && quirk.latency == Latency::Local && is_large {
        // A hint: whatever the answer is, the bytes are the same.
        let _advised = fadvise(file, plan.offset, 0, Advice::Sequential);
    }
}

fn go_direct_as(file: &Arc<OwnedFd>, quirk: &'static Quirk) -> Result<u32> {
    use crate::system::quirk::DirectIo;
    match quirk.direct_io {
        DirectIo::Real => go_direct(file.as_fd()),
        DirectIo::Pretended => {
            Err(haul_sys::CallError::new(haul_sys::Call::Fcntl, haul_sys::Errno::OPNOTSUPP))
        }
    }
}

impl ReadStrategy {
    /// Chooses the executor of the requests, how large they are and how many there may be.
    fn choose_executor(&mut self, plan: &ReadPlan, latency: Latency, wanted: u64) {
        let (executor, usual_bytes, usual_depth) = match (self.way, latency) {
            (_, Latency::Remote) => (Executor::Threads, FAR_BYTES, DEPTH_FAR),
            (Way::Direct, Latency::Local) => (Executor::Ring, NEAR_BYTES, DEPTH_NEAR),
            (Way::Cached | Way::Uncached, Latency::Local)
                if plan.copiers > 1 && wanted >= LARGE_BYTES =>
            {
                (Executor::Threads, NEAR_BYTES, plan.copiers)
            }
            (Way::Cached | Way::Uncached, Latency::Local) => return,
        };
        let bytes = gentle::request_bytes(plan.policy.request_bytes(usual_bytes));
        let requests = usize::try_from(wanted.div_ceil(bytes as u64)).unwrap_or(usize::MAX);
        self.request_bytes = bytes;
        self.depth = plan.policy.depth(usual_depth, bytes, MEMORY_BYTES).min(requests.max(1));
        // A request alone has nothing to overlap with.
        if self.depth > 1 {
            self.executor = executor;
        }
    }

    /// Makes the queue. Where rings are forbidden, threads do it.
    pub(super) fn queue(&self) -> Box<dyn Queue> {
        match self.executor {
            Executor::Calls => Box::new(ByCall::default()),
            Executor::Threads => Box::new(ByThreads::new(self.depth)),
            Executor::Ring => match ByRing::new(self.depth) {
                Ok(ring) => Box::new(ring),
                Err(_) => Box::new(ByThreads::new(self.depth)),
            },
        }
    }
}
