//! Drops the pages that a reader leaves behind.

use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::data::{Advice, fadvise};

use super::Reader;
use crate::method::sides::Way;
use crate::stream::source::Pages;

impl Reader {
    /// Drops the pages behind the reader, as far as they are to go, when more than `least` bytes
    /// have come together. It is advice: what stays is measured, not assumed.
    pub(super) fn drop_behind(&mut self, least: u64) {
        let behind = self.dropped..self.delivered;
        let is_quiet = self.strategy.way != Way::Cached && least > 0;
        if self.strategy.pages == Pages::Stay
            || is_quiet
            || behind.end.saturating_sub(behind.start) <= least
        {
            return;
        }
        let file = self.source.file();
        match &self.strategy.pages {
            Pages::Stay => {}
            Pages::Go => forget(file.as_fd(), behind.start, behind.end),
            Pages::GoIn(ranges) => {
                for range in ranges {
                    let (start, end) = (range.start.max(behind.start), range.end.min(behind.end));
                    if start < end {
                        forget(file.as_fd(), start, end);
                    }
                }
            }
        }
        self.dropped = behind.end;
    }
}

fn forget(fd: BorrowedFd<'_>, start: u64, end: u64) {
    let _advised = fadvise(fd, start, end - start, Advice::DontNeed);
}
