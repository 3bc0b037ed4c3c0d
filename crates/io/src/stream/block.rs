//! Blocks: page-aligned memory that comes from a pool and goes back to it by itself.
//!
//! A pool is what bounds the memory of a stream: a caller that wants a block when all are out waits until
//! one comes back. A block can be shared, so that several targets are written from one copy.

use haul_sys::sync::{Condvar, Mutex};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_sys::memory::{AlignedBuffer, Pages};
use haul_sys::{Call, CallError, Errno, Result};

/// How often a waiting thread checks whether the run was stopped: a signal wakes no condition variable.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// The memory of a stream.
#[derive(Debug)]
pub struct Pool {
    block_bytes: usize,
    most: usize,
    inner: Mutex<Inner>,
    given_back: Condvar,
}

#[derive(Default)]
struct Inner {
    free: Vec<AlignedBuffer>,
    /// Blocks that are out.
    out: usize,
    /// Threads that wait for a block: waking none is a call, too.
    waiting: usize,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} out, {} free", self.out, self.free.len())
    }
}

impl Pool {
    /// Makes a pool of at most `most` blocks of `block_bytes` each. Memory is taken when a block is
    /// first asked for.
    #[must_use]
    pub fn new(block_bytes: usize, most: usize) -> Arc<Pool> {
        Arc::new(Pool {
            block_bytes,
            most: most.max(1),
            inner: Mutex::new(Inner::default()),
            given_back: Condvar::new(),
        })
    }

    /// Returns the size of a block in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns how many blocks can be out at a time.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns how many blocks are out.
    #[must_use]
    pub fn out(&self) -> usize {
        self.inner.lock().out
    }

    /// Returns an empty block, or `None` when all are out; `ENOMEM` when there is no memory.
    pub fn try_take(self: &Arc<Pool>) -> Result<Option<Block>> {
        let mut inner = self.inner.lock();
        self.take_from(&mut inner)
    }

    /// Returns an empty block. Blocks until one comes back; `None` when the run was stopped.
    pub fn take(self: &Arc<Pool>, stop: &AtomicBool) -> Result<Option<Block>> {
        let mut inner = self.inner.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(block) = self.take_from(&mut inner)? {
                return Ok(Some(block));
            }
            inner.waiting += 1;
            let waited = self.given_back.wait_timeout(inner, LOOK);
            inner = waited.0;
            inner.waiting -= 1;
        }
    }

    fn take_from(self: &Arc<Pool>, inner: &mut Inner) -> Result<Option<Block>> {
        // The one that came back last is the one that is still in the processor's cache.
        let memory = match inner.free.pop() {
            Some(memory) => memory,
            // A stream that fits into the first block may be as short as a line, for which the kernel would
            // clear a huge page.
            None if inner.out == 0 => match spare(self.block_bytes) {
                Some(memory) => memory,
                None => AlignedBuffer::of(Pages::Small, self.block_bytes)?,
            },
            None if inner.out < self.most => AlignedBuffer::of(Pages::Huge, self.block_bytes)?,
            None => return Ok(None),
        };
        inner.out += 1;
        let pool = Some(Arc::clone(self));
        Ok(Some(Block { memory: Some(Arc::new(memory)), bytes: 0..0, pool }))
    }

    fn give_back(&self, memory: AlignedBuffer) {
        let mut inner = self.inner.lock();
        inner.free.push(memory);
        inner.out = inner.out.saturating_sub(1);
        let is_awaited = inner.waiting > 0;
        drop(inner);
        if is_awaited {
            self.given_back.notify_one();
        }
    }
}

/// Buffers that a thread keeps for the pools of the next file: one to read into and one to write from.
const SPARE_BUFFERS: usize = 2;

/// Bytes of such a buffer at most: the usual request.
const SPARE_BYTES_MAX: usize = 2 << 20;

std::thread_local! {
    /// First blocks of pools that are gone: of thousands of small files, each would map and unmap two.
    static SPARE: RefCell<VecDeque<AlignedBuffer>> = const { RefCell::new(VecDeque::new()) };
}

/// Returns a buffer of this size that the calling thread keeps.
fn spare(bytes: usize) -> Option<AlignedBuffer> {
    let take = |spare: &RefCell<VecDeque<AlignedBuffer>>| {
        let mut spare = spare.borrow_mut();
        let at = spare.iter().position(|memory| memory.len() == bytes)?;
        spare.remove(at)
    };
    SPARE.try_with(take).ok().flatten()
}

impl Drop for Pool {
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        let Some(memory) = inner.free.pop().filter(|memory| memory.len() <= SPARE_BYTES_MAX) else {
            return;
        };
        // At the end of the thread the buffer is given back to the kernel.
        let _kept = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            spare.push_back(memory);
            if spare.len() > SPARE_BUFFERS {
                spare.pop_front();
            }
        });
    }
}

/// Bytes in memory of a pool. Clones share the memory.
#[derive(Clone)]
pub struct Block {
    memory: Option<Arc<AlignedBuffer>>,
    bytes: Range<usize>,
    pool: Option<Arc<Pool>>,
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({:?})", self.bytes)
    }
}

impl Block {
    /// Makes a block of memory that belongs to no pool.
    pub(crate) fn lasting(memory: Arc<AlignedBuffer>, bytes: Range<usize>) -> Block {
        Block { memory: Some(memory), bytes, pool: None }
    }

    /// Returns all of the block's memory for writing, `None` while it is shared.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        Arc::get_mut(self.memory.as_mut()?).map(|memory| &mut **memory)
    }

    /// The same for a block that was just taken from its pool. Fails with `EBUSY` if it is shared all the
    /// same: a reader without room would take that for the end of its input.
    pub fn own_room(&mut self) -> Result<&mut [u8]> {
        self.room().ok_or(CallError::new(Call::Read, Errno::BUSY))
    }

    /// Says which part of the memory is filled.
    pub fn set_filled(&mut self, bytes: Range<usize>) {
        let most = self.memory.as_ref().map_or(0, |memory| memory.len());
        let end = bytes.end.min(most);
        self.bytes = bytes.start.min(end)..end;
    }

    /// Returns which part of the memory is filled.
    #[must_use]
    pub fn filled(&self) -> Range<usize> {
        self.bytes.clone()
    }

    /// Lends the memory to a request; the block is empty-handed until it is given back.
    pub(crate) fn lend(&mut self) -> Option<Arc<AlignedBuffer>> {
        self.memory.take()
    }

    /// Takes the memory back that was lent.
    pub(crate) fn take_back(&mut self, memory: Arc<AlignedBuffer>) {
        self.memory = Some(memory);
    }

    /// Returns the memory, to be read by a request.
    pub(crate) fn memory(&self) -> Option<&Arc<AlignedBuffer>> {
        self.memory.as_ref()
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        **self == **other
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_ref().and_then(|memory| memory.get(self.bytes.clone())).unwrap_or(&[])
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Of all clones exactly one is the last, whichever threads they are dropped in.
        if let (Some(memory), Some(pool)) = (self.memory.take(), self.pool.take())
            && let Some(memory) = Arc::into_inner(memory)
        {
            pool.give_back(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_bounded_and_blocks_come_back() {
        let pool = Pool::new(4096, 2);
        let one = pool.try_take().unwrap().unwrap();
        let two = pool.try_take().unwrap().unwrap();
        assert!(pool.try_take().unwrap().is_none());
        let shared = one.clone();
        drop(one);
        assert!(pool.try_take().unwrap().is_none());
        drop(shared);
        assert!(pool.try_take().unwrap().is_some());
        drop(two);
        assert_eq!(pool.out(), 0);
    }

    #[test]
    fn a_shared_block_cannot_be_written() {
        let pool = Pool::new(4096, 1);
        let mut block = pool.try_take().unwrap().unwrap();
        block.room().unwrap()[..3].copy_from_slice(b"abc");
        block.set_filled(0..3);
        let other = block.clone();
        assert!(block.room().is_none());
        drop(other);
        assert!(block.room().is_some());
        assert_eq!(&*block, b"abc");
    }

    #[test]
    fn who_waits_gets_what_comes_back() {
        let pool = Pool::new(4096, 1);
        let block = pool.try_take().unwrap().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.take(&AtomicBool::new(false)).unwrap().is_some());
            drop(block);
            assert!(waiting.join().unwrap());
        });
        let _out = pool.try_take().unwrap().unwrap();
        assert!(pool.take(&AtomicBool::new(true)).unwrap().is_none());
    }
}
