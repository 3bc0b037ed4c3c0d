//! What is read into: a few buffers for many threads, the last one back being the first one out.
//!
//! A hundred threads wake at once, and two of them can read. A buffer for each would be a hundred MiB
//! that no cache holds, and as many pages to be had from the kernel: more work than the reading.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Buffers that nobody uses at the moment.
#[derive(Debug)]
pub(super) struct Buffers {
    idle: Mutex<Vec<Vec<u8>>>,
    returned: Condvar,
}

/// A buffer, until it is dropped.
#[derive(Debug)]
pub(super) struct Lent<'b> {
    home: &'b Buffers,
    buffer: Vec<u8>,
    filled: usize,
}

impl Buffers {
    /// Makes as many as there are processors, and one that is being waited with.
    pub(super) fn new() -> Buffers {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Buffers { idle: Mutex::new(vec![Vec::new(); processors + 1]), returned: Condvar::new() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a buffer with room for so many bytes, as soon as there is one.
    pub(super) fn lend(&self, bytes: usize) -> Lent<'_> {
        let mut idle = self.idle();
        let mut buffer = loop {
            match idle.pop() {
                Some(buffer) => break buffer,
                None => idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(idle);
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        Lent { home: self, buffer, filled: bytes }
    }
}

impl Lent<'_> {
    /// Says how much of it is to be seen from now on.
    pub(super) fn keep(&mut self, bytes: usize) {
        self.filled = bytes.min(self.filled);
    }
}

impl Deref for Lent<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.filled).unwrap_or_default()
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.home.idle().push(buffer);
        self.home.returned.notify_one();
    }
}
