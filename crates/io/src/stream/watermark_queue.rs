//! A buffer with watermarks between a thread that fills and one that empties.
//!
//! A tape, or a disk that has to seek, is best written in long runs with rests between: nothing
//! comes out until the high mark is reached, and then until nothing is left; a buffer that was full
//! takes nothing in until it has fallen to the low mark.

use haul_sys::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::block::{Block, LOOK};
use crate::system::stream_error::StreamError;

/// The marks, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// A full buffer takes nothing until it has fallen to this.
    pub low: usize,
    /// An empty buffer gives nothing until it has risen to this.
    pub high: usize,
    /// What the buffer holds at most.
    pub full: usize,
}

/// The buffer.
#[derive(Debug)]
pub struct WatermarkQueue {
    marks: Marks,
    inner: Mutex<Inner>,
    changed: Condvar,
    filled: AtomicUsize,
}

#[derive(Debug)]
struct Inner {
    blocks: VecDeque<Block>,
    takes: bool,
    gives: bool,
    end: Option<Result<(), StreamError>>,
}

impl WatermarkQueue {
    /// Makes an empty buffer. Marks that make no sense are moved to where they do.
    #[must_use]
    pub fn new(marks: Marks) -> WatermarkQueue {
        let full = marks.full.max(1);
        let marks = Marks { low: marks.low.min(full - 1), high: marks.high.clamp(1, full), full };
        let inner = Inner { blocks: VecDeque::new(), takes: true, gives: false, end: None };
        WatermarkQueue {
            marks,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
            filled: AtomicUsize::new(0),
        }
    }

    /// Returns how many blocks are in it.
    #[must_use]
    pub fn filled(&self) -> usize {
        self.filled.load(Ordering::Relaxed)
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        self.changed.wait_timeout(inner, LOOK).0
    }

    /// Puts a block in. Blocks while the buffer takes nothing; `false` when the run was stopped, or
    /// its reader is gone.
    pub fn put(&self, block: Block, stop: &AtomicBool) -> bool {
        let mut inner = self.inner.lock();
        while !inner.takes {
            if stop.load(Ordering::Relaxed) || inner.end.is_some() {
                return false;
            }
            inner = self.wait(inner);
        }
        if inner.end.is_some() {
            return false;
        }
        inner.blocks.push_back(block);
        let count = inner.blocks.len();
        inner.takes = count < self.marks.full;
        inner.gives |= count >= self.marks.high;
        self.filled.store(count, Ordering::Relaxed);
        drop(inner);
        self.changed.notify_all();
        true
    }

    /// Tells whether one of the two sides has ended.
    pub fn has_ended(&self) -> bool {
        self.inner.lock().end.is_some()
    }

    /// Says that nothing more comes, and why; or, from the other side, that nothing more is wanted.
    pub fn end(&self, why: Result<(), StreamError>) {
        let mut inner = self.inner.lock();
        inner.end.get_or_insert(why);
        inner.gives = true;
        inner.takes = true;
        drop(inner);
        self.changed.notify_all();
    }

    /// Takes a block out. Blocks while the buffer gives nothing; `None` at the end.
    pub fn take(&self, stop: &AtomicBool) -> Result<Option<Block>, StreamError> {
        let mut inner = self.inner.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(StreamError::Stopped);
            }
            if inner.gives
                && let Some(block) = inner.blocks.pop_front()
            {
                let count = inner.blocks.len();
                inner.takes |= count <= self.marks.low;
                self.filled.store(count, Ordering::Relaxed);
                drop(inner);
                self.changed.notify_all();
                return Ok(Some(block));
            }
            if let Some(end) = inner.end {
                return end.map(|()| None);
            }
            inner.gives = false;
            inner = self.wait(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NEVER, Pool};
    use super::*;

    #[test]
    fn nothing_comes_out_before_the_high_mark_and_then_everything() {
        let pool = Pool::new(4096, 16);
        let watermark_queue = WatermarkQueue::new(Marks { low: 1, high: 3, full: 4 });
        let put = || watermark_queue.put(pool.try_take().unwrap().unwrap(), &NEVER);
        let gives = || watermark_queue.inner.lock().gives;
        assert!(put() && put());
        assert!(!gives());
        assert!(put());
        assert!(gives());
        for left in [2, 1, 0] {
            assert!(watermark_queue.take(&NEVER).unwrap().is_some());
            assert_eq!(watermark_queue.filled(), left);
        }
        // Empty again: it waits for the mark again.
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| watermark_queue.take(&NEVER).unwrap().is_some());
            while gives() {
                std::thread::yield_now();
            }
            assert!(put() && put() && put());
            assert!(taker.join().unwrap());
        });
    }

    #[test]
    fn what_is_full_takes_nothing_until_the_low_mark() {
        let pool = Pool::new(4096, 16);
        let watermark_queue = WatermarkQueue::new(Marks { low: 1, high: 1, full: 3 });
        for _ in 0..3 {
            assert!(watermark_queue.put(pool.try_take().unwrap().unwrap(), &NEVER));
        }
        assert!(!watermark_queue.inner.lock().takes);
        watermark_queue.take(&NEVER).unwrap();
        assert!(!watermark_queue.inner.lock().takes);
        watermark_queue.take(&NEVER).unwrap();
        assert!(watermark_queue.inner.lock().takes);
    }

    #[test]
    fn an_end_gives_what_is_left_and_then_why() {
        let pool = Pool::new(4096, 16);
        let watermark_queue = WatermarkQueue::new(Marks { low: 1, high: 3, full: 4 });
        assert!(watermark_queue.put(pool.try_take().unwrap().unwrap(), &NEVER));
        watermark_queue.end(Err(StreamError::Shrank));
        assert!(watermark_queue.take(&NEVER).unwrap().is_some());
        assert_eq!(watermark_queue.take(&NEVER).unwrap_err(), StreamError::Shrank);
        assert!(!watermark_queue.put(pool.try_take().unwrap().unwrap(), &NEVER));
    }
}
