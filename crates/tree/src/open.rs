//! Descriptors of one open directory, counted as long as any worker uses them.

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Descriptors of an open directory.
pub struct Open<H> {
    handle: H,
    pub(crate) generation: u64,
    /// Number of directories that are open, this one included.
    live: Arc<AtomicUsize>,
}

impl<H> Open<H> {
    /// Wraps descriptors; `live` counts them until they are closed.
    pub(crate) fn new(handle: H, generation: u64, live: Arc<AtomicUsize>) -> Open<H> {
        live.fetch_add(1, Ordering::Relaxed);
        Open { handle, generation, live }
    }
}

impl<H> Deref for Open<H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.handle
    }
}

impl<H: AsFd> AsFd for Open<H> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl<H> Drop for Open<H> {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}
