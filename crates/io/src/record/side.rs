//! One end of a run: its descriptor, where it stands, and what of it leaves the page cache.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::data::{Advice, fadvise, seek_tell};
use haul_sys::memory::page_bytes;

/// Advice is given on this many bytes at a time, for each call drains every processor's lists.
const ADVICE_BYTES: u64 = 256 << 10;

/// Whether what a run does not touch leaves the page cache, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It does.
    Too,
    /// It stays.
    Stays,
}

/// Input or output.
pub struct Side {
    /// Shared with the thread that reads ahead.
    pub(super) fd: Arc<OwnedFd>,
    pub(super) nocache: bool,
    /// Whether everything up to the end of the file is to leave the cache.
    pub(super) nocache_end: bool,
    /// Bytes that no advice was given on yet.
    pending: u64,
    /// Where the next byte is, as far as is known.
    pub(super) offset: Option<u64>,
}

impl Side {
    /// Takes an open file in, where it stands.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Side {
        // What has no offsets has no position.
        let offset = seek_tell(&fd).ok();
        let fd = Arc::new(fd);
        Side { fd, nocache: false, nocache_end: false, pending: 0, offset }
    }

    /// What passes leaves the page cache; with `Rest::Too` everything behind it as well.
    #[must_use]
    pub fn uncached(self, rest: Rest) -> Side {
        Side { nocache: true, nocache_end: rest == Rest::Too, ..self }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Moves on by bytes that were read or written.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.offset = self.offset.and_then(|at| at.checked_add(bytes));
    }

    /// Asks the kernel to forget the last bytes, when enough have come together; with none, what is
    /// left of them.
    pub(super) fn forget(&mut self, bytes: u64) -> Result<(), Errno> {
        let (clean, pending) = if bytes > 0 {
            let all = self.pending.saturating_add(bytes);
            self.pending = all % ADVICE_BYTES;
            if all == self.pending {
                return Ok(());
            }
            (all - self.pending, self.pending)
        } else if self.pending == 0 && !self.nocache_end {
            return Ok(());
        } else if self.nocache_end {
            // A length of 0 means up to the end.
            (0, self.pending)
        } else {
            (self.pending, 0)
        };
        let Some(offset) = self.offset else { return Err(Errno::SPIPE) };
        let mut start = offset.saturating_sub(clean).saturating_sub(pending);
        if clean == 0 {
            start -= start % page_bytes();
        }
        fadvise(&self.fd, start, clean, Advice::DontNeed).map_err(|error| error.errno)
    }
}
