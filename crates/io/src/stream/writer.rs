//! The ordered writer: bytes in order in, many requests in flight out, to one file or to several.
//!
//! The last block waits until all others have arrived, so that a file is shorter than it will be as
//! long as it is not complete. One target's failure never stops the others.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haul_sys::memory::AlignedBuffer;
use haul_sys::{Call, CallError, Errno};

use super::NEVER;
use super::block::Block;
use super::by_call::ByCall;
use super::by_ring::ByRing;
use super::by_threads::ByThreads;
use super::in_order::write_stream;
use super::queue::{Direction, Done, Queue, Request, make};
use super::source::{DEPTH_FAR, DEPTH_NEAR, FAR_BYTES, NEAR_BYTES};
use super::target::{Lane, Target, Zeros};
use crate::file::atomic_file::Durable;
use crate::file::stored;
use crate::method::policy::{Cache, DataPolicy};
use crate::method::sides::Way;
use crate::system::errno::{Verdict, verdict};
use crate::system::fully::write_each;
use crate::system::gentle;
use crate::system::quirk::Latency;
use crate::system::retry::{Retries, again};
use crate::system::segment::zero_runs;
use crate::system::stream_error::StreamError;

/// What is wanted of a writer.
#[derive(Clone, Debug)]
pub struct WritePlan {
    /// The page cache and how many requests are in flight. Nothing of large outputs stays in the
    /// cache unless the policy is `Keep`.
    pub policy: DataPolicy,
    /// How many bytes will come, where that is known.
    pub size: Option<u64>,
    /// What becomes of blocks of zeros, in each target that allows it.
    pub zeros: Zeros,
    /// Ends the writing when it is set.
    pub stop: &'static AtomicBool,
}

impl WritePlan {
    /// Whatever comes, as it comes.
    pub const PLAIN: WritePlan =
        WritePlan { policy: DataPolicy::PLAIN, size: None, zeros: Zeros::Write, stop: &NEVER };
}

/// Threads that fill the page cache: one copies while the other waits for the file's lock.
const DEPTH_CACHED: usize = 2;

/// The most memory of one writer's requests in flight.
const MEMORY_BYTES: usize = 256 << 20;

/// Writes a stream.
pub struct Writer {
    plan: WritePlan,
    lanes: Vec<Lane>,
    queue: Option<Box<dyn Queue>>,
    /// What waits to see whether it is the last.
    held: Option<Block>,
    /// The stream's length so far, without what is held.
    position: u64,
    flights: Vec<Flight>,
    tags: u64,
    retries: Retries,
    waited: Duration,
}

struct Flight {
    tag: u64,
    lane: usize,
    block: Block,
    /// Where in the stream.
    offset: u64,
    /// What is left of the memory to be written.
    range: Range<usize>,
}

/// What became of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes from the stream's beginning on that arrived without a gap.
    pub bytes: u64,
    /// Why no more did.
    pub error: Option<StreamError>,
    /// Why it was not direct, where that was asked for and is not possible.
    pub not_direct: Option<CallError>,
}

impl Writer {
    /// Makes a writer. Nothing is written yet.
    pub fn new(targets: Vec<Target>, plan: WritePlan) -> haul_sys::Result<Writer> {
        let lanes = targets.into_iter().map(|target| Lane::new(target, &plan.policy, plan.zeros));
        let lanes = lanes.collect::<haul_sys::Result<_>>()?;
        Ok(Writer {
            plan,
            lanes,
            queue: None,
            held: None,
            position: 0,
            flights: Vec::new(),
            tags: 0,
            retries: Retries::new(),
            waited: Duration::ZERO,
        })
    }

    #[cfg(test)]
    pub(super) fn with_queue(mut self, queue: Box<dyn Queue>) -> Writer {
        self.queue = Some(queue);
        self
    }

    #[cfg(test)]
    pub(super) fn lanes(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Returns the size of the blocks that callers should write, unless the plan asks for another. A gentle run that
    /// others wait for gets smaller ones.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let usual = if self.is_remote() { FAR_BYTES } else { NEAR_BYTES };
        gentle::request_bytes(self.plan.policy.request_bytes(usual))
    }

    fn is_remote(&self) -> bool {
        self.lanes.iter().any(|lane| lane.latency() == Latency::Remote)
    }

    /// Returns how many blocks the writer holds at most.
    #[must_use]
    pub fn holds(&self, block_bytes: usize) -> usize {
        let usual = if self.is_remote() { DEPTH_FAR } else { DEPTH_NEAR };
        self.plan.policy.depth(usual, block_bytes, MEMORY_BYTES) + 1
    }

    /// Returns how long the targets were waited for.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Tells whether any target still takes bytes.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.lanes.iter().any(|lane| lane.error.is_none())
    }

    /// Returns what went wrong with a target so far.
    #[must_use]
    pub fn error(&self, target: usize) -> Option<StreamError> {
        self.lanes.get(target).and_then(|lane| lane.error)
    }

    /// Takes the next bytes. Blocks while as many requests are in flight as there may be.
    ///
    /// An error of a target is returned at the end; an error here is one of the queue.
    pub fn put(&mut self, block: Block) -> Result<(), StreamError> {
        if block.is_empty() {
            return Ok(());
        }
        gentle::rest();
        if let Some(before) = self.held.replace(block) {
            if self.queue.is_none() {
                self.set_out(before.len());
            }
            self.write_out(&before)?;
            if let Some(queue) = &mut self.queue {
                queue.start()?;
            }
        }
        Ok(())
    }

    /// There is more than one block: decides how they go.
    fn set_out(&mut self, block_bytes: usize) {
        let cache = self.plan.policy.cache;
        self.lanes.iter_mut().for_each(|lane| lane.go_past_cache(cache));
        self.queue = Some(self.make_queue(block_bytes));
    }

    fn make_queue(&self, block_bytes: usize) -> Box<dyn Queue> {
        let positioned = || self.lanes.iter().filter(|lane| lane.positioned);
        let depth = self.holds(block_bytes) - 1;
        if positioned().any(|lane| lane.latency() == Latency::Remote) {
            return Box::new(ByThreads::new(depth));
        }
        if positioned().any(|lane| lane.way == Way::Direct) {
            return match ByRing::new(depth) {
                Ok(ring) => Box::new(ring),
                Err(_) => Box::new(ByThreads::new(depth)),
            };
        }
        match positioned().count() {
            0 => Box::new(ByCall::default()),
            count => Box::new(ByThreads::new(depth.min(DEPTH_CACHED * count))),
        }
    }

    fn write_out(&mut self, block: &Block) -> Result<(), StreamError> {
        let bytes = block.len() as u64;
        let upto = self.position + bytes;
        for index in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get_mut(index) else { break };
            if lane.error.is_some() {
                continue;
            }
            if !lane.positioned {
                self.write_in_order(index, block);
                continue;
            }
            if self.held.is_some() {
                lane.go_ahead(upto, self.plan.size);
            }
            let fits = block.filled().start == 0
                && self.position.is_multiple_of(lane.align)
                && bytes.is_multiple_of(lane.align);
            if lane.way == Way::Direct && !fits {
                self.drain()?;
                if let Some(lane) = self.lanes.get_mut(index) {
                    lane.leave_way();
                }
            }
            self.send(index, block)?;
        }
        self.position = upto;
        Ok(())
    }

    /// Hands a block to the queue, all of it or what is not zero.
    fn send(&mut self, lane: usize, block: &Block) -> Result<(), StreamError> {
        let Some(Lane { zeros, target, .. }) = self.lanes.get(lane) else { return Ok(()) };
        if *zeros == Zeros::Write {
            return self.ask(lane, block.clone(), self.position, block.filled());
        }
        let base = target.base;
        let (mut at, mut offset) = (block.filled().start, self.position);
        let parts: Vec<(usize, bool)> =
            zero_runs(block, base + offset).map(|run| (run.bytes.len(), run.zero)).collect();
        for (length, zero) in parts {
            if !zero {
                self.ask(lane, block.clone(), offset, at..at + length)?;
            } else if let Some(lane) = self.lanes.get_mut(lane) {
                lane.left_out += length as u64;
            }
            at += length;
            offset += length as u64;
        }
        Ok(())
    }

    fn ask(
        &mut self,
        lane: usize,
        block: Block,
        offset: u64,
        range: Range<usize>,
    ) -> Result<(), StreamError> {
        while let Some(queue) = &self.queue
            && queue.in_flight() >= gentle::window(queue.depth())
        {
            self.wait()?;
        }
        self.tags += 1;
        let flight = Flight { tag: self.tags, lane, block, offset, range };
        self.ask_flight(flight)
    }

    fn ask_flight(&mut self, flight: Flight) -> Result<(), StreamError> {
        let Some(request) = self.request(&flight) else { return Ok(()) };
        let Some(queue) = &mut self.queue else { return Ok(()) };
        queue.ask(request)?;
        self.flights.push(flight);
        Ok(())
    }

    fn request(&self, flight: &Flight) -> Option<Request> {
        let lane = self.lanes.get(flight.lane)?;
        Some(Request {
            tag: flight.tag,
            direction: Direction::Write,
            file: Arc::clone(&lane.target.file),
            way: lane.way,
            offset: lane.target.base + flight.offset,
            memory: Arc::clone(flight.block.memory()?),
            range: flight.range.clone(),
        })
    }

    fn wait(&mut self) -> Result<(), StreamError> {
        if self.plan.stop.load(Ordering::Relaxed) {
            return Err(StreamError::Stopped);
        }
        let Some(queue) = &mut self.queue else { return Ok(()) };
        let begun = Instant::now();
        let done = queue.wait(self.plan.stop)?;
        self.waited += begun.elapsed();
        match done {
            Some(done) => self.took(done),
            None => Ok(()),
        }
    }

    fn drain(&mut self) -> Result<(), StreamError> {
        while self.queue.as_ref().is_some_and(|queue| queue.in_flight() > 0) {
            self.wait()?;
        }
        Ok(())
    }

    /// Goes on with a request that is over.
    fn took(&mut self, done: Done) -> Result<(), StreamError> {
        let Done { request, result } = done;
        let Some(at) = self.flights.iter().position(|flight| flight.tag == request.tag) else {
            return Ok(());
        };
        let (way, memory) = (request.way, request.memory);
        // The block is the last to let go of the memory, for it knows the pool.
        drop::<Arc<AlignedBuffer>>(memory);
        let mut flight = self.flights.swap_remove(at);
        match result {
            Ok(0) => {
                let full = CallError::new(Call::RingWrite, Errno::NOSPC);
                self.fail(&flight, StreamError::Call(full));
            }
            Ok(count) => {
                self.retries.reset();
                flight.range.start = (flight.range.start + count).min(flight.range.end);
                flight.offset += count as u64;
                if !flight.range.is_empty() {
                    return self.go_on(flight, way);
                }
                let end = flight.offset;
                let start = end - count as u64;
                if let Some(lane) = self.lanes.get_mut(flight.lane)
                    && let Err(error) = lane.arrived(start, end)
                {
                    self.fail(&flight, StreamError::Call(error));
                }
            }
            Err(error) if self.retries.allow(error) => return self.ask_flight(flight),
            Err(error) => match verdict(error.call, error.errno) {
                Verdict::NextMethod(_) => return self.complete_by_call(flight),
                Verdict::Retry | Verdict::Flush | Verdict::Fail => {
                    self.fail(&flight, StreamError::Call(error));
                }
            },
        }
        Ok(())
    }

    /// Asks for the rest of a block that was written in part.
    fn go_on(&mut self, flight: Flight, way: Way) -> Result<(), StreamError> {
        let align = self.lanes.get(flight.lane).map_or(1, |lane| lane.align);
        if way == Way::Direct && !(flight.range.start as u64).is_multiple_of(align) {
            return self.complete_by_call(flight);
        }
        self.ask_flight(flight)
    }

    /// Writes the rest of a block through the page cache, by plain calls, and everything after it.
    fn complete_by_call(&mut self, mut flight: Flight) -> Result<(), StreamError> {
        if let Some(lane) = self.lanes.get_mut(flight.lane) {
            // What is on its way past the cache may go on: it is about other pages.
            lane.leave_way();
        }
        let Some(mut request) = self.request(&flight) else { return Ok(()) };
        let (range, offset) = (request.range.clone(), request.offset);
        let (written, error) = write_each(range.len() as u64, Call::Pwrite, |done| {
            request.range.start = range.start + usize::try_from(done).unwrap_or(range.len());
            request.offset = offset + done;
            again(|| make(&mut request))
        });
        flight.offset += written;
        if let Some(error) = error {
            self.fail(&flight, StreamError::Call(error));
        }
        Ok(())
    }

    /// Gives a target up. Where several writes failed, the first in the file counts.
    fn fail(&mut self, flight: &Flight, error: StreamError) {
        if let Some(lane) = self.lanes.get_mut(flight.lane)
            && flight.offset < lane.broken_at
        {
            lane.broken_at = flight.offset;
            lane.error = Some(error);
        }
    }

    /// Writes a block to what has no offsets, waiting where it does not block.
    fn write_in_order(&mut self, index: usize, block: &Block) {
        let begun = Instant::now();
        let Some(lane) = self.lanes.get_mut(index) else { return };
        let (written, error) = write_stream(&*lane.target.file, block, self.plan.stop);
        let passed = lane.passed(written);
        if let Some(error) = error.or(passed.err().map(StreamError::Call)) {
            lane.broken_at = self.position + written;
            lane.error = Some(error);
        }
        self.waited += begun.elapsed();
    }

    /// Writes what is left, makes each file what it is to be, and tells what became of it.
    pub fn finish(mut self, durable: Durable) -> Vec<Outcome> {
        let ended = self.write_last();
        if let Err(error) = ended {
            let arrived = self.flights.iter().map(|flight| flight.offset).min();
            let arrived = arrived.unwrap_or(self.position).min(self.position);
            for lane in self.lanes.iter_mut().filter(|lane| lane.error.is_none()) {
                lane.error = Some(error);
                lane.broken_at = arrived;
            }
            // Whatever is on its way ends before the files get their length.
            self.queue = None;
        }
        let position = self.position;
        self.lanes.iter_mut().map(|lane| settle(lane, position, durable)).collect()
    }

    fn write_last(&mut self) -> Result<(), StreamError> {
        self.drain()?;
        if let Some(last) = self.held.take() {
            if self.queue.is_none() && self.plan.policy.cache == Cache::Auto {
                self.lanes.iter_mut().for_each(|lane| lane.enter(last.len() as u64));
            }
            let queue = self.queue.get_or_insert_with(|| Box::new(ByCall::default()));
            queue.start()?;
            self.write_out(&last)?;
            self.drain()?;
        }
        Ok(())
    }
}

fn settle(lane: &mut Lane, position: u64, durable: Durable) -> Outcome {
    let settled = lane.settle(position);
    let synced = match durable {
        Durable::Yes if lane.error.is_none() && settled.is_ok() => {
            let written = position.saturating_sub(lane.left_out);
            stored::flush(&lane.target.file, lane.quirk, written)
        }
        _ => Ok(()),
    };
    // A pipe cannot be synced and need not be.
    let is_no_file = |error: &CallError| error.call == Call::Fsync && error.errno == Errno::INVAL;
    if let Err(error) = settled.and(synced)
        && lane.error.is_none()
        && (lane.positioned || !is_no_file(&error))
    {
        lane.error = Some(StreamError::Call(error));
    }
    Outcome { bytes: position.min(lane.broken_at), error: lane.error, not_direct: lane.not_direct }
}
