//! Requests by a ring: many on their way to a local device, driven by one thread.

use std::sync::atomic::AtomicBool;

use haul_sys::uring::{self, Asked, Operation};
use haul_sys::{Errno, Result};

use super::queue::{Direction, Done, Queue, Request};
use crate::method::sides::Way;
use crate::system::gentle;

/// A queue within the kernel.
pub(crate) struct ByRing {
    ring: uring::Queue,
    depth: usize,
    /// The way is the file's own flag, but for this the answer needs it again.
    ways: Vec<(u64, Way)>,
}

impl ByRing {
    /// Makes a ring; the errors of that.
    pub(crate) fn new(depth: usize) -> Result<ByRing> {
        Ok(ByRing { ring: uring::Queue::new(depth)?, depth, ways: Vec::with_capacity(depth) })
    }

    fn next_done(&mut self) -> Result<Option<Done>> {
        if let Some(done) = self.taken() {
            return Ok(Some(done));
        }
        match self.ring.submit_and_wait() {
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        Ok(self.taken())
    }

    fn taken(&mut self) -> Option<Done> {
        let done = self.ring.take()?;
        let at = self.ways.iter().position(|(tag, _)| *tag == done.tag);
        let way = at.map_or(Way::Cached, |at| self.ways.swap_remove(at).1);
        let Asked { operation, file, offset, memory, range, .. } = done.asked;
        let direction = match operation {
            Operation::Read => Direction::Read,
            Operation::Write => Direction::Write,
        };
        let request = Request { tag: done.tag, direction, file, way, offset, memory, range };
        Some(Done { request, result: done.result })
    }
}

impl Queue for ByRing {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.ring.in_flight()
    }

    fn ask(&mut self, request: Request) -> Result<()> {
        let Request { tag, direction, file, way, offset, memory, range } = request;
        let operation = match direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        };
        let uncached = way == Way::Uncached;
        self.ring.ask(tag, Asked { operation, file, offset, memory, range, uncached })?;
        self.ways.push((tag, way));
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        match self.ring.submit() {
            Err(error) if error.errno == Errno::INTR => Ok(()),
            answer => answer,
        }
    }

    fn wait(&mut self, _stop: &AtomicBool) -> Result<Option<Done>> {
        let bytes_of = |answer: &Result<Option<Done>>| match answer {
            Ok(Some(done)) => done.result.unwrap_or(0),
            Ok(None) | Err(_) => 0,
        };
        gentle::measured(|| self.next_done(), bytes_of)
    }
}
