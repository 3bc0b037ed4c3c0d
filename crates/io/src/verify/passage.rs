//! The passage past the page cache: whether what is read of a file that was just written comes from
//! storage.
//!
//! The file is evicted from the page cache, and `cachestat` must confirm it. What it keeps (pages that another process has mapped,
//! or that a journal still needs) would answer instead of storage where direct I/O is only pretended,
//! so then a part that is not cached is read directly: if the cache has it afterwards, the flag means
//! nothing here.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::data::{Advice, Way, fadvise, pread, set_way};
use haul_sys::memory::{AlignedBuffer, page_bytes};
use haul_sys::{CallError, Errno};

use crate::cache::residency::{Asked, absent, cached_bytes};
use crate::system::gentle;
use crate::system::kit::Watch;
use crate::system::quirk::DirectIo;
use crate::system::retry::{requesting, retrying};
use crate::verify::unverified::{Unverified, VerifiedFrom};

/// What speaks for storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grounds {
    /// The cache had nothing of the file before it was read.
    EmptyCache,
    /// Direct reads leave the cache alone.
    Direct,
    /// Nothing.
    None,
}

/// How a file is read again.
pub(crate) struct Passage {
    grounds: Grounds,
    /// Whether a direct read was refused, so that one through the cache took its place.
    has_fallen_back: AtomicBool,
}

impl Passage {
    /// Makes sure that reading asks the storage, as far as that is possible. Blocks for one read at
    /// most.
    pub(crate) fn prepare(
        unverified: &Unverified<'_>,
        watch: &Watch<'_>,
    ) -> Result<Passage, CallError> {
        let is_real = unverified.quirk.direct_io == DirectIo::Real;
        // Emptied first, for the question whether direct reads are real needs room in the cache.
        let is_dropped = is_real && fadvise(unverified.fd, 0, 0, Advice::DontNeed).is_ok();
        let asked = Asked { fd: unverified.fd, quirk: unverified.quirk };
        let is_empty = is_dropped && cached_bytes(asked, 0, unverified.bytes) == Some(0);
        let is_direct =
            is_real && unverified.bytes > 0 && set_way(unverified.fd, Way::Direct).is_ok();
        let grounds = if unverified.bytes == 0 || is_empty {
            Grounds::EmptyCache
        } else if is_direct && passes_by(unverified, asked, watch)? {
            Grounds::Direct
        } else {
            Grounds::None
        };
        Ok(Passage { grounds, has_fallen_back: AtomicBool::new(false) })
    }

    /// Returns where the bytes came from that were read so far.
    pub(crate) fn verified_from(&self) -> VerifiedFrom {
        match self.grounds {
            Grounds::EmptyCache => VerifiedFrom::Storage,
            Grounds::Direct if !self.has_fallen_back.load(Ordering::Relaxed) => {
                VerifiedFrom::Storage
            }
            Grounds::Direct | Grounds::None => VerifiedFrom::Cache,
        }
    }

    /// Reads some bytes of a file as they are on storage, as far as that is possible.
    pub(crate) fn read_at(
        &self,
        fd: BorrowedFd<'_>,
        room: &mut [u8],
        at: u64,
        watch: &Watch<'_>,
    ) -> Result<usize, CallError> {
        gentle::rest();
        match requesting(watch, || pread(fd, room, at)) {
            // An offset or file that direct I/O does not take after all.
            Err(error) if error.errno == Errno::INVAL => {
                self.has_fallen_back.store(true, Ordering::Relaxed);
                set_way(fd, Way::Cached)?;
                requesting(watch, || pread(fd, room, at))
            }
            answer => answer,
        }
    }
}

/// Tells whether a direct read of a page that is not cached leaves it so.
fn passes_by(
    unverified: &Unverified<'_>,
    asked: Asked<'_>,
    watch: &Watch<'_>,
) -> Result<bool, CallError> {
    let page = page_bytes();
    let Some(range) = absent(asked, 0..unverified.bytes).into_iter().next() else {
        return Ok(false);
    };
    let mut buffer = AlignedBuffer::new(usize::try_from(page).unwrap_or(1 << 16))?;
    match retrying(watch, || pread(unverified.fd, &mut buffer, range.start)) {
        Ok(0) => Ok(false),
        Ok(_) => Ok(cached_bytes(asked, range.start, page) == Some(0)),
        Err(error) if error.errno == Errno::INVAL => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn a_direct_read_that_was_refused_is_no_evidence_any_more() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 8192], 0).unwrap();
        file.sync_all().unwrap();
        let mut buffer = AlignedBuffer::new(4096).unwrap();
        let refused = set_way(&file, Way::Direct).is_ok()
            && pread(file.as_fd(), &mut buffer, 1).is_err_and(|error| error.errno == Errno::INVAL);
        if !refused {
            println!("ignored: the folder for temporary files takes every direct read, or none");
            return;
        }
        let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let watch = Watch { stop: &stop, bytes: &bytes, pace: None };
        for (grounds, verified_from) in
            [(Grounds::Direct, VerifiedFrom::Cache), (Grounds::EmptyCache, VerifiedFrom::Storage)]
        {
            set_way(&file, Way::Direct).unwrap();
            let passage = Passage { grounds, has_fallen_back: AtomicBool::new(false) };
            assert_eq!(passage.read_at(file.as_fd(), &mut buffer, 0, &watch), Ok(4096));
            assert_eq!(passage.verified_from(), VerifiedFrom::Storage);
            assert_eq!(passage.read_at(file.as_fd(), &mut buffer, 1, &watch), Ok(4096));
            assert_eq!(passage.verified_from(), verified_from);
        }
    }
}
