//! What becomes of the page cache: which way bytes take for a policy, and what is dropped after.
//!
//! Direct I/O leaves nothing behind and costs no processor time, but wants files that are worth
//! its alignment; uncached requests serve the small ones; and where a file system has neither, what
//! was written is dropped in windows behind its writeback, so that never more than
//! [`BEHIND_BYTES`] of it is in memory.

use std::collections::VecDeque;
use std::ops::Range;

use haul_sys::data::{Advice, Writeback, fadvise, write_back};
use haul_sys::fs::fsync;
use haul_sys::memory::page_bytes;

use crate::cache::ledger::Ledger;
pub(crate) use crate::cache::ledger::WINDOW_BYTES;
use crate::cache::residency::{absent, cached_bytes};
use crate::method::error::DataError;
use crate::method::job::{FileJob, OpenFiles};
use crate::method::policy::{Cache, Choice, DataPolicy};
use crate::method::sides::{Sides, Wanted, Way, Which};
use crate::system::kit::Watch;
use crate::system::quirk::Pages;
use crate::system::retry::retrying;

/// What becomes of a file's pages when the copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Stay,
    /// None stays.
    Go,
    /// Those that were not there before go.
    Restore,
}

/// What a policy means for a file of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caching {
    pub(crate) way: Way,
    pub(crate) source: After,
    pub(crate) target: After,
}

/// From this size on direct I/O is worth its alignment, its two `fcntl` and its wait for the
/// device; smaller files are read and written through the cache without a trace.
const DIRECT_BYTES: u64 = 1 << 20;

/// Returns the way of one of a job's files. Direct I/O is a flag of the open file, so bytes of one that
/// other threads use go through the cache, and no page stays there all the same.
fn way_of(job: &FileJob<'_>, which: Which, way: Way) -> Way {
    if job.open_files == OpenFiles::Shared(which) { way.min(Way::Uncached) } else { way }
}

/// Returns what copying a file puts into the page cache: its pages, and those of the target.
pub(crate) const fn both_sides(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(2)
}

/// Returns what a policy means for a file that was not entered in the run's ledger yet.
pub(crate) fn caching(policy: &DataPolicy, file_bytes: u64) -> Caching {
    caching_if(policy, file_bytes, || policy.ledger.admits(both_sides(file_bytes)))
}

/// Returns what a policy means for a file; `is_admitted` tells whether its pages may stay where the run's
/// ledger decides.
pub(crate) fn caching_if(
    policy: &DataPolicy,
    file_bytes: u64,
    is_admitted: impl FnOnce() -> bool,
) -> Caching {
    let quiet = if file_bytes >= DIRECT_BYTES { Way::Direct } else { Way::Uncached };
    let (way, source, target) = match policy.cache {
        Cache::Keep => (Way::Cached, After::Stay, After::Stay),
        Cache::Auto if !is_admitted() => (quiet, After::Restore, After::Go),
        Cache::Auto => (Way::Cached, After::Stay, After::Stay),
        Cache::Drop => (quiet, After::Go, After::Go),
        Cache::Direct => (Way::Direct, After::Go, After::Go),
        Cache::Restore => (quiet, After::Restore, After::Go),
    };
    let forced = match policy.choice {
        Choice::Only(method) => Some(method.info().way),
        Choice::Auto => None,
    };
    Caching { way: forced.unwrap_or(way), source, target }
}

/// The page cache of one file's copy, from the first byte to the last.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) caching: Caching,
    pub(crate) sides: Sides,
    /// The source's ranges that were not cached before, where that matters.
    absent: Vec<Range<u64>>,
}

/// Written ranges whose writeback was started, in the order of that.
#[derive(Debug, Default)]
pub(crate) struct Written {
    ranges: VecDeque<Range<u64>>,
    bytes: u64,
}

impl Written {
    /// Takes a range in, and out those that have waited long enough for a ledger.
    pub(crate) fn push(&mut self, range: Range<u64>, ledger: &Ledger) -> Vec<Range<u64>> {
        let most = ledger.behind_bytes();
        self.bytes += range.end - range.start;
        self.ranges.push_back(range);
        let mut due = Vec::new();
        while self.bytes > most
            && let Some(range) = self.ranges.pop_front()
        {
            self.bytes -= range.end - range.start;
            due.push(range);
        }
        due
    }

    /// Returns those that were not taken out.
    pub(crate) fn into_ranges(self) -> VecDeque<Range<u64>> {
        self.ranges
    }
}

impl Keeper {
    /// Leaves both files as they are.
    pub(crate) fn idle(caching: Caching) -> Keeper {
        Keeper { caching, sides: Sides::default(), absent: Vec::new() }
    }

    /// Sets both files on their way.
    pub(crate) fn prepare(caching: Caching, job: &FileJob<'_>) -> Keeper {
        if caching.way == Way::Cached && caching.source != After::Restore {
            return Keeper::idle(caching);
        }
        let mut source_way = caching.way;
        let mut missing = Vec::new();
        if caching.source == After::Restore {
            missing = absent(job.source_pages(), job.wanted());
            let bytes: u64 = missing.iter().map(|range| range.end - range.start).sum();
            // What is cached is read from there rather than from the device.
            if bytes < job.bytes() / 2 {
                source_way = Way::Cached;
            }
        }
        let source = Wanted { fd: job.source, way: way_of(job, Which::Source, source_way) };
        let target = Wanted { fd: job.target, way: way_of(job, Which::Target, caching.way) };
        let sides = Sides::prepare(source, target, job.pair);
        Keeper { caching, sides, absent: missing }
    }

    /// Tells whether pages have to be dropped while the copy goes on.
    pub(crate) fn drops_behind(&self) -> bool {
        let goes =
            |after: After, which| after != After::Stay && self.sides.way(which) == Way::Cached;
        goes(self.caching.source, Which::Source) || goes(self.caching.target, Which::Target)
    }

    /// Starts the writeback of a range that has arrived.
    pub(crate) fn start(&self, job: &FileJob<'_>, range: &Range<u64>) {
        if self.caching.target == After::Go {
            let bytes = range.end - range.start;
            // Only a start: what goes wrong is heard when it is waited for.
            let to = job.target_at(range.start);
            let _started = write_back(job.target, to, bytes, Writeback::Start);
        }
    }

    /// Waits for the writeback of a range and drops its pages on both sides.
    pub(crate) fn drop_range(
        &self,
        job: &FileJob<'_>,
        range: &Range<u64>,
        watch: &Watch<'_>,
    ) -> Result<(), DataError> {
        let target_range = job.in_target(range);
        let bytes = range.end - range.start;
        if self.caching.target == After::Go && self.sides.way(Which::Target) != Way::Uncached {
            match job.pair.target.pages {
                Pages::Own => retrying(watch, || {
                    write_back(job.target, target_range.start, bytes, Writeback::Complete)
                })?,
                // sync_file_range looks at the pages of the file above, of which there are none.
                Pages::Below => fsync(job.target)?,
            }
            forget(job.target, &target_range);
        }
        match self.caching.source {
            After::Stay => {}
            After::Go => forget(job.source, range),
            After::Restore => {
                for part in &self.absent {
                    let part = part.start.max(range.start)..part.end.min(range.end);
                    if part.start < part.end {
                        forget(job.source, &part);
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes what is left in the page cache as the policy says, when all bytes have arrived.
    pub(crate) fn settle(&self, job: &FileJob<'_>, watch: &Watch<'_>) -> Result<(), DataError> {
        let Caching { source, target, .. } = self.caching;
        if source == After::Stay && target == After::Stay {
            return Ok(());
        }
        let all = job.wanted();
        let is_left = |file, range: Range<u64>| {
            let start = range.start - range.start % page_bytes();
            cached_bytes(file, start, range.end - start) != Some(0)
        };
        let is_uncached = self.sides.way(Which::Target) == Way::Uncached;
        if (target != After::Stay
            && !is_uncached
            && is_left(job.target_pages(), job.in_target(&all)))
            || (source != After::Stay && is_left(job.source_pages(), all.clone()))
        {
            self.drop_range(job, &all, watch)?;
        }
        Ok(())
    }
}

/// Drops the clean pages of a range, those at its ends too, of which the kernel would keep what is
/// covered in part. It is advice: what stays is measured, not assumed.
pub fn forget(fd: std::os::fd::BorrowedFd<'_>, range: &Range<u64>) {
    let page = page_bytes();
    let start = range.start - range.start % page;
    let bytes = range.end.next_multiple_of(page) - start;
    let _advised = fadvise(fd, start, bytes, Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_lead_to_ways() {
        let of = |cache, bytes| caching(&DataPolicy { cache, ..DataPolicy::PLAIN }, bytes).way;
        assert_eq!(of(Cache::Keep, 1 << 40), Way::Cached);
        assert_eq!(of(Cache::Auto, 1 << 20), Way::Cached);
        assert_eq!(of(Cache::Drop, 1 << 10), Way::Uncached);
        assert_eq!(of(Cache::Drop, 1 << 30), Way::Direct);
        assert_eq!(of(Cache::Direct, 1), Way::Direct);
        let ledger = Ledger::of_run();
        let policy = DataPolicy { ledger, ..DataPolicy::PLAIN };
        assert_eq!(caching(&policy, u64::MAX).way, Way::Direct);
        assert_eq!(caching(&policy, 1 << 10).way, Way::Cached);
    }

    #[test]
    fn what_waits_is_bounded() {
        let ledger = &Ledger::UNBOUNDED;
        let mut behind = Written::default();
        let step = 4 << 20;
        for index in 0..8 {
            assert!(behind.push(index * step..(index + 1) * step, ledger).is_empty());
        }
        let due = behind.push(8 * step..9 * step, ledger);
        assert_eq!((due.len(), due[0].clone()), (1, 0..step));
    }
}
