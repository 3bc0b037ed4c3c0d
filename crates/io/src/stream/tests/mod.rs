//! The reader and the writer under a queue that answers late, short, out of order or not at all.

mod reader;
mod writer;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_sys::{Call, CallError, Errno, Result};

use super::queue::{Direction, Done, Queue, Request, make};
use crate::method::sides::Way;

/// A small generator of numbers, so that every failure can be had again by its seed.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// Makes requests truly, but answers whichever it likes first, cuts transfers short, and says
/// EINTR, or that this is not the way.
pub(super) struct Unruly {
    depth: usize,
    asked: Vec<Request>,
    numbers: Numbers,
    /// The n-th answer is this error, for good.
    pub(super) fails: Option<(u64, CallError)>,
    answers: u64,
}

impl Unruly {
    pub(super) fn new(seed: u64, depth: usize) -> Unruly {
        Unruly { depth, asked: Vec::new(), numbers: Numbers::new(seed), fails: None, answers: 0 }
    }
}

impl Queue for Unruly {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.asked.len()
    }

    fn ask(&mut self, request: Request) -> Result<()> {
        assert!(self.asked.len() < self.depth, "the queue is asked for more than it takes");
        self.asked.push(request);
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        Ok(())
    }

    fn wait(&mut self, _stop: &AtomicBool) -> Result<Option<Done>> {
        if self.asked.is_empty() || self.numbers.below(8) == 0 {
            return Ok(None);
        }
        let at = usize::try_from(self.numbers.below(self.asked.len() as u64)).unwrap();
        let mut request = self.asked.swap_remove(at);
        self.answers += 1;
        let (read, write) = match request.way {
            Way::Direct => (Call::RingRead, Call::RingWrite),
            _ => (Call::Pread, Call::Pwrite),
        };
        let call = if request.direction == Direction::Read { read } else { write };
        if let Some((turn, error)) = self.fails
            && self.answers >= turn
        {
            return Ok(Some(Done { request, result: Err(error) }));
        }
        let result = match self.numbers.below(10) {
            0 => Err(CallError::new(call, Errno::INTR)),
            1 if request.way == Way::Direct && self.numbers.below(6) == 0 => {
                Err(CallError::new(call, Errno::INVAL))
            }
            1..4 => {
                let whole = request.range.clone();
                let most = (whole.len() as u64).max(1);
                let count = usize::try_from(self.numbers.below(most) + 1).unwrap();
                request.range.end = request.range.start + count;
                let result = make(&mut request);
                request.range = whole;
                result
            }
            _ => make(&mut request),
        };
        Ok(Some(Done { request, result }))
    }
}

/// A file without a name that holds these bytes.
pub(super) fn file(bytes: &[u8]) -> Arc<OwnedFd> {
    use std::io::Write as _;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Arc::new(OwnedFd::from(file))
}
