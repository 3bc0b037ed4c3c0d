//! The pages behind a file that is read or written in order, for callers that make the requests
//! themselves.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::Result;
use haul_sys::data::{Writeback, write_back};
use haul_sys::fs::{Kind, Stat, fstat, fsync};

use crate::Cache;
use crate::cache::{WINDOW_BYTES, Written, forget};
use crate::pair::Device;
use crate::quirk::Pages;
use crate::residency::{Asked, cached_bytes};

/// Tells whether the pages of a file go when its bytes were moved. With [`Cache::Restore`] they go if none
/// was there. To be asked before the first byte is moved; does not block on I/O.
#[must_use]
pub fn goes(file: BorrowedFd<'_>, stat: &Stat, cache: Cache) -> bool {
    if !matches!(stat.kind(), Kind::Regular | Kind::BlockDevice) {
        return false;
    }
    match cache {
        Cache::Auto | Cache::Keep => false,
        Cache::Drop | Cache::Direct => true,
        Cache::Restore => Device::of(file).is_ok_and(|device| {
            cached_bytes(Asked { fd: file, quirk: device.quirk }, 0, stat.size) == Some(0)
        }),
    }
}

/// Waits until a range that was written is on storage, and drops its pages. Blocks; fails if it cannot be
/// written. `pages` are those of the file's file system.
pub fn release(file: BorrowedFd<'_>, range: &Range<u64>, pages: Pages) -> Result<()> {
    match pages {
        Pages::Own => {
            write_back(file, range.start, range.end - range.start, Writeback::Complete)?;
        }
        // sync_file_range looks at the pages of the file above, of which there are none.
        Pages::Below => fsync(file)?,
    }
    forget(file, range);
    Ok(())
}

/// Drops the pages behind a file, if a policy says so.
#[derive(Debug)]
pub struct Trail {
    pages: Pages,
    goes: bool,
    /// Ranges whose writeback was started.
    written: Written,
    /// What was written last, whose writeback was not.
    last: Range<u64>,
}

impl Trail {
    /// Looks at an open file of which no byte was moved. Never fails: a file that cannot be described keeps
    /// its pages.
    #[must_use]
    pub fn new(file: BorrowedFd<'_>, cache: Cache) -> Trail {
        let goes = fstat(file).is_ok_and(|stat| goes(file, &stat, cache));
        let pages = Device::of(file).map_or(Pages::Own, |device| device.quirk.pages);
        Trail { pages, goes, written: Written::default(), last: 0..0 }
    }

    /// Tells whether pages are dropped.
    #[must_use]
    pub const fn drops(&self) -> bool {
        self.goes
    }

    /// Drops what was read.
    pub fn after_read(&self, file: BorrowedFd<'_>, range: &Range<u64>) {
        if self.goes {
            forget(file, range);
        }
    }

    /// Starts to write a range to storage, and drops what was written long enough before. Blocks until
    /// that is on storage; fails if it cannot be written.
    pub fn after_write(&mut self, file: BorrowedFd<'_>, range: Range<u64>) -> Result<()> {
        if !self.goes {
            return Ok(());
        }
        if range.start != self.last.end {
            self.start(file)?;
            self.last = range.start..range.start;
        }
        self.last.end = range.end;
        if self.last.end - self.last.start >= WINDOW_BYTES {
            self.start(file)?;
        }
        Ok(())
    }

    fn start(&mut self, file: BorrowedFd<'_>) -> Result<()> {
        let range = std::mem::replace(&mut self.last, 0..0);
        self.last = range.end..range.end;
        if range.is_empty() {
            return Ok(());
        }
        // Only a start: what goes wrong is heard when it is waited for.
        let _started = write_back(file, range.start, range.end - range.start, Writeback::Start);
        self.written.push(range).iter().try_for_each(|due| self.complete(file, due))
    }

    fn complete(&self, file: BorrowedFd<'_>, range: &Range<u64>) -> Result<()> {
        release(file, range, self.pages)
    }

    /// The same as [`Trail::finish`], with a range of which other threads wrote parts.
    pub fn finish_range(&mut self, file: BorrowedFd<'_>, range: &Range<u64>) -> Result<()> {
        self.finish(file)?;
        if self.goes && !range.is_empty() { self.complete(file, range) } else { Ok(()) }
    }

    /// Drops what is left. Blocks until all that was written is on storage; fails if it cannot be.
    pub fn finish(&mut self, file: BorrowedFd<'_>) -> Result<()> {
        if !self.goes {
            return Ok(());
        }
        self.start(file)?;
        let left = std::mem::take(&mut self.written).into_ranges();
        left.iter().try_for_each(|range| self.complete(file, range))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn what_is_written_and_read_leaves_no_pages() {
        let file = tempfile::tempfile().unwrap();
        let mut trail = Trail::new(file.as_fd(), Cache::Drop);
        let piece = vec![1; 100_000];
        for number in 0..200 {
            let at = number * 100_000;
            file.write_all_at(&piece, at).unwrap();
            trail.after_write(file.as_fd(), at..at + 100_000).unwrap();
        }
        // Behind a gap.
        file.write_all_at(&piece, 30_000_000).unwrap();
        trail.after_write(file.as_fd(), 30_000_000..30_100_000).unwrap();
        trail.finish(file.as_fd()).unwrap();
        let device = Device::of(&file).unwrap();
        let asked = Asked { fd: file.as_fd(), quirk: device.quirk };
        if device.quirk.name == "tmpfs" {
            println!("ignored: the pages of tmpfs are its storage");
            return;
        }
        assert!(cached_bytes(asked, 0, 30_100_000).is_none_or(|left| left <= 64 << 10));
        let mut all = vec![0; 30_100_000];
        file.read_exact_at(&mut all, 0).unwrap();
        let keeping = Trail::new(file.as_fd(), Cache::Restore);
        assert!(!keeping.drops(), "what was there stays");
        trail.after_read(file.as_fd(), &(0..30_100_000));
        assert!(cached_bytes(asked, 0, 30_100_000).is_none_or(|left| left <= 64 << 10));
        assert!(Trail::new(file.as_fd(), Cache::Restore).drops());
        assert!(!Trail::new(file.as_fd(), Cache::Auto).drops());
    }
}
