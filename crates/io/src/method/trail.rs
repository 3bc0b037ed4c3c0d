//! The pages behind a file that is read or written in order, for callers that make the requests
//! themselves.

use haul_sys::sync::Mutex;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::Result;
use haul_sys::data::{Writeback, pwrite_uncached, seek_tell, write_back};
use haul_sys::fs::{Kind, Stat, fstat, fsync};

use crate::cache::ledger::{Ledger, Put};
use crate::cache::residency::{Asked, absent};
use crate::method::caching::{WINDOW_BYTES, Written, both_sides, forget};
use crate::method::pair::Device;
use crate::method::policy::{Cache, DataPolicy};
use crate::system::errno::is_impossible;
use crate::system::fully::{write_all, write_fully};
use crate::system::gentle;
use crate::system::quirk::Pages;
use crate::system::retry::again;

/// What counts as the size of a block device, whose status has none: more than any has.
const DEVICE_BYTES: u64 = 1 << 62;

/// Bytes that the kernel may have read ahead of the last read.
const AHEAD_BYTES: u64 = 32 << 20;

/// Waits until a range that was written is on storage, and drops its pages. Blocks; fails if it cannot be
/// written.
pub fn release(file: BorrowedFd<'_>, range: &Range<u64>) -> Result<()> {
    match Device::of(file).map_or(Pages::Own, |device| device.quirk.pages) {
        Pages::Own => {
            write_back(file, range.start, range.end - range.start, Writeback::Complete)?;
        }
        // sync_file_range looks at the pages of the file above, of which there are none.
        Pages::Below => fsync(file)?,
    }
    forget(file, range);
    Ok(())
}

/// Writes of small files to one tree that leave no pages in the page cache. Nothing waits for the device:
/// two workers that released 20,000 files of 64 KiB in batches of 16 took 1.13 of the time of a run that keeps
/// its pages, on a disk.
#[derive(Debug, Default)]
pub struct UncachedWrites {
    /// Whether a file system has no uncached requests.
    refused: AtomicBool,
}

impl UncachedWrites {
    /// Writes all bytes at an offset. Returns whether the kernel drops their pages by itself, once they are on
    /// storage; where it does not, [`release`] does. Blocks.
    pub fn write(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<bool> {
        if !self.refused.load(Ordering::Relaxed) {
            let (done, error) =
                write_all(bytes, |left, at| again(|| pwrite_uncached(file, left, offset + at)));
            match error {
                None => return Ok(true),
                Some(error) if done == 0 && is_impossible(error) => {
                    self.refused.store(true, Ordering::Relaxed);
                }
                Some(error) => return Err(error),
            }
        }
        write_fully(file, bytes, offset).map(|()| false)
    }
}

/// Returns the size of a file that has pages in the page cache.
fn paged_bytes(stat: &Stat) -> Option<u64> {
    match stat.kind() {
        Kind::Regular => Some(stat.size),
        Kind::BlockDevice => Some(DEVICE_BYTES),
        _ => None,
    }
}

/// Keeps the pages of a file that is read as a policy says. [`Cache::Auto`] leaves pages behind as long as
/// the run's ledger admits them, [`Cache::Restore`] none; both leave those that were there before.
#[derive(Debug, Default)]
pub struct SourceTrail {
    fate: Fate,
    /// What was read last, in order, and not dropped yet.
    last: Range<u64>,
    /// From the first byte to the last of what was read and goes.
    all: Option<Range<u64>>,
}

/// What becomes of the pages of a source.
#[derive(Debug, Default)]
enum Fate {
    #[default]
    Stay,
    Go,
    /// These were not cached before, and go.
    GoIn(Vec<Range<u64>>),
    /// They stay as far as they are counted.
    Counted(Count),
}

/// What the run's ledger has admitted of a source.
#[derive(Debug)]
struct Count {
    ledger: Ledger,
    /// What is being read.
    put: Put,
    /// Bytes of it that were not read yet.
    left: u64,
    /// Bytes of the file that were not counted yet.
    rest: u64,
}

impl SourceTrail {
    /// Looks at an open file of which no byte was read. Never fails: a file that cannot be described keeps
    /// its pages. Does not block on I/O.
    #[must_use]
    pub fn new(file: BorrowedFd<'_>, policy: &DataPolicy) -> SourceTrail {
        match policy.cache {
            Cache::Keep => SourceTrail::of(Fate::Stay),
            _ => fstat(file).map_or(SourceTrail::of(Fate::Stay), |stat| {
                SourceTrail::described(file, &stat, policy)
            }),
        }
    }

    /// The same of a file with this status.
    #[must_use]
    pub fn described(file: BorrowedFd<'_>, stat: &Stat, policy: &DataPolicy) -> SourceTrail {
        let Some(bytes) = paged_bytes(stat) else { return SourceTrail::of(Fate::Stay) };
        SourceTrail::of(match policy.cache {
            Cache::Keep => Fate::Stay,
            Cache::Drop | Cache::Direct => Fate::Go,
            Cache::Restore => Fate::GoIn(missing(file, 0..bytes)),
            Cache::Auto => Fate::counted(file, &policy.ledger, 0..bytes),
        })
    }

    const fn of(fate: Fate) -> SourceTrail {
        SourceTrail { fate, last: 0..0, all: None }
    }

    /// Takes note of what was read, and drops pages before it.
    pub fn after_read(&mut self, file: BorrowedFd<'_>, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        gentle::rest();
        self.leave_read(file, range);
    }

    /// Drops pages before a range that was read.
    fn leave_read(&mut self, file: BorrowedFd<'_>, range: &Range<u64>) {
        match &mut self.fate {
            Fate::Stay => return,
            Fate::Go | Fate::GoIn(_) => {}
            Fate::Counted(count) => {
                if let Some(fate) = count.read(file, range) {
                    self.fate = fate;
                }
                return;
            }
        }
        extend(&mut self.all, range);
        if range.start != self.last.end {
            self.drop_last(file);
            self.last = range.start..range.start;
        }
        self.last.end = range.end;
        if self.last.end - self.last.start >= WINDOW_BYTES {
            self.drop_last(file);
        }
    }

    /// The same of bytes before the position of an open file.
    pub fn after_read_here(&mut self, file: BorrowedFd<'_>, bytes: u64) {
        gentle::rest();
        let end = match &self.fate {
            Fate::Stay => return,
            // What is moved at a position is read in order.
            Fate::Counted(count) if !count.is_due(bytes) => Ok(bytes),
            Fate::Go | Fate::GoIn(_) | Fate::Counted(_) => seek_tell(file),
        };
        if let Ok(end) = end {
            self.after_read(file, &(end.saturating_sub(bytes)..end));
        }
    }

    /// Drops a window with the one before it: the kernel keeps large folios of which a part is covered.
    fn drop_last(&mut self, file: BorrowedFd<'_>) {
        let end = self.last.end;
        let least = self.all.as_ref().map_or(end, |all| all.start.min(end));
        self.forget(file, &(self.last.start.saturating_sub(WINDOW_BYTES).max(least)..end));
        self.last = end..end;
    }

    fn forget(&self, file: BorrowedFd<'_>, range: &Range<u64>) {
        match &self.fate {
            Fate::Stay | Fate::Counted(_) => {}
            Fate::Go => forget(file, range),
            Fate::GoIn(parts) => {
                let first = parts.partition_point(|part| part.end <= range.start);
                for part in parts[first..].iter().take_while(|part| part.start < range.end) {
                    forget(file, &(part.start.max(range.start)..part.end.min(range.end)));
                }
            }
        }
    }

    /// Drops what is left, and what the kernel has read ahead.
    pub fn finish(&mut self, file: BorrowedFd<'_>) {
        if let Some(all) = self.all.take() {
            self.forget(file, &(all.start..all.end.saturating_add(AHEAD_BYTES)));
            self.last = 0..0;
        }
    }
}

impl Fate {
    fn counted(file: BorrowedFd<'_>, ledger: &Ledger, range: Range<u64>) -> Fate {
        let bytes = range.end - range.start;
        let step = bytes.min(WINDOW_BYTES);
        match ledger.put(step, bytes) {
            Some(put) => {
                Fate::Counted(Count { ledger: ledger.clone(), put, left: step, rest: bytes - step })
            }
            None => Fate::GoIn(missing(file, range)),
        }
    }
}

impl Count {
    /// Returns whether the next window is to be counted when so many bytes were read.
    fn is_due(&self, bytes: u64) -> bool {
        // Before the kernel reads further ahead.
        self.left.saturating_sub(bytes) <= WINDOW_BYTES / 2 && self.rest > 0
    }

    /// Takes note of what was read. Returns what becomes of the rest if the ledger does not admit it.
    fn read(&mut self, file: BorrowedFd<'_>, range: &Range<u64>) -> Option<Fate> {
        let bytes = range.end - range.start;
        let is_due = self.is_due(bytes);
        self.left = self.left.saturating_sub(bytes);
        if !is_due {
            return None;
        }
        // Pages that came with more than a window count afterwards.
        let step = self.rest.min(WINDOW_BYTES.max(bytes));
        match self.ledger.put(step, self.rest) {
            Some(put) => {
                self.put = put;
                self.left += step;
                self.rest -= step;
                None
            }
            None => Some(Fate::GoIn(missing(file, range.end..range.end + self.left + self.rest))),
        }
    }
}

fn extend(all: &mut Option<Range<u64>>, range: &Range<u64>) {
    let all = all.get_or_insert_with(|| range.clone());
    *all = all.start.min(range.start)..all.end.max(range.end);
}

/// Returns what is not cached of a range.
fn missing(file: BorrowedFd<'_>, range: Range<u64>) -> Vec<Range<u64>> {
    Device::of(file)
        .map_or(Vec::new(), |device| absent(Asked { fd: file, quirk: device.quirk }, range))
}

/// Keeps the pages of a file of which several workers move parts, each by a [`FileJob`]. What the kernel reads
/// ahead of one part, and a page at the border of two, are left by the part that was there first: so the file is
/// looked at once, before the first part whose pages do not stay, and what goes is dropped for all parts together.
///
/// [`FileJob`]: crate::method::job::FileJob
#[derive(Debug, Default)]
pub struct PartsTrail(OnceLock<Mutex<SourceTrail>>);

impl PartsTrail {
    /// Looks at a file of which a part of so many bytes is about to be moved.
    pub fn before(&self, file: BorrowedFd<'_>, stat: &Stat, bytes: u64, policy: &DataPolicy) {
        let cache = match policy.cache {
            Cache::Keep => return,
            Cache::Auto if policy.ledger.admits(both_sides(bytes)) => return,
            Cache::Auto => Cache::Restore,
            Cache::Drop | Cache::Direct | Cache::Restore => policy.cache,
        };
        self.0.get_or_init(|| {
            let policy = DataPolicy { cache, ..DataPolicy::PLAIN };
            Mutex::new(SourceTrail::described(file, stat, &policy))
        });
    }

    /// Takes note of a part that was moved, and drops pages before it.
    pub fn after(&self, file: BorrowedFd<'_>, range: &Range<u64>) {
        if range.is_empty() {
            return;
        }
        // Not under the lock: the workers of the other parts would wait for the rest of this one.
        gentle::rest();
        if let Some(trail) = self.0.get() {
            trail.lock().leave_read(file, range);
        }
    }

    /// Drops what is left.
    pub fn finish(&self, file: BorrowedFd<'_>) {
        if let Some(trail) = self.0.get() {
            trail.lock().finish(file);
        }
    }
}

/// Keeps the pages of a file that is written as a policy says: with [`Cache::Auto`] as long as the run's
/// ledger admits them.
#[derive(Debug, Default)]
pub struct TargetTrail {
    policy: Option<(Cache, Ledger)>,
    /// Ranges whose writeback was started.
    written: Written,
    /// What was written last, whose writeback was not.
    last: Range<u64>,
    /// From the first byte to the last of what goes.
    all: Option<Range<u64>>,
}

impl TargetTrail {
    /// Looks at an open file. Never fails: a file that cannot be described keeps its pages.
    #[must_use]
    pub fn new(file: BorrowedFd<'_>, policy: &DataPolicy) -> TargetTrail {
        let describe = || if policy.cache == Cache::Keep { None } else { fstat(file).ok() };
        describe().map_or(TargetTrail::default(), |stat| TargetTrail::described(&stat, policy))
    }

    /// The same of a file with this status.
    #[must_use]
    pub fn described(stat: &Stat, policy: &DataPolicy) -> TargetTrail {
        let is_kept = policy.cache == Cache::Keep || paged_bytes(stat).is_none();
        TargetTrail {
            policy: (!is_kept).then(|| (policy.cache, policy.ledger.clone())),
            ..TargetTrail::default()
        }
    }

    /// Starts to write a range to storage, and drops what was written long enough before, unless the pages
    /// stay. Blocks until that is on storage; fails if it cannot be written.
    pub fn after_write(&mut self, file: BorrowedFd<'_>, range: Range<u64>) -> Result<()> {
        gentle::rest();
        if self.stays(range.end - range.start) { Ok(()) } else { self.leave(file, range) }
    }

    /// The same of bytes before the position of an open file.
    pub fn after_write_here(&mut self, file: BorrowedFd<'_>, bytes: u64) -> Result<()> {
        gentle::rest();
        if self.stays(bytes) {
            return Ok(());
        }
        let end = seek_tell(file)?;
        self.leave(file, end.saturating_sub(bytes)..end)
    }

    fn stays(&self, bytes: u64) -> bool {
        match &self.policy {
            None => true,
            Some((Cache::Auto, ledger)) => ledger.put(bytes, bytes).is_some(),
            Some(_) => bytes == 0,
        }
    }

    fn leave(&mut self, file: BorrowedFd<'_>, range: Range<u64>) -> Result<()> {
        extend(&mut self.all, &range);
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
        let due = match &self.policy {
            Some((_, ledger)) => self.written.push(range, ledger),
            None => vec![range],
        };
        due.iter().try_for_each(|due| release(file, due))
    }

    /// The same as [`TargetTrail::finish`], with a range of which other threads wrote parts. Where the
    /// ledger decides, they drop their own pages.
    pub fn finish_range(&mut self, file: BorrowedFd<'_>, range: &Range<u64>) -> Result<()> {
        self.finish(file)?;
        match &self.policy {
            Some((Cache::Auto, _)) | None => Ok(()),
            Some(_) if range.is_empty() => Ok(()),
            Some(_) => release(file, range),
        }
    }

    /// Drops what is left. Blocks until all that goes is on storage; fails if it cannot be.
    pub fn finish(&mut self, file: BorrowedFd<'_>) -> Result<()> {
        self.start(file)?;
        let left = std::mem::take(&mut self.written).into_ranges();
        left.iter().try_for_each(|range| release(file, range))?;
        // With the large folios that the windows covered in part.
        self.all.take().iter().for_each(|all| forget(file, all));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::cache::residency::cached_bytes;

    const FILE_BYTES: u64 = 30_100_000;

    fn policy(cache: Cache) -> DataPolicy {
        DataPolicy { cache, ..DataPolicy::PLAIN }
    }

    /// A policy whose ledger admits nothing more.
    fn full() -> DataPolicy {
        DataPolicy { ledger: Ledger::full(), ..DataPolicy::PLAIN }
    }

    /// Writes a file with a gap.
    fn write(file: &std::fs::File, policy: &DataPolicy) {
        let mut trail = TargetTrail::new(file.as_fd(), policy);
        let piece = vec![1; 100_000];
        for at in (0..200).map(|number| number * 100_000).chain([30_000_000]) {
            file.write_all_at(&piece, at).unwrap();
            trail.after_write(file.as_fd(), at..at + 100_000).unwrap();
        }
        trail.finish(file.as_fd()).unwrap();
    }

    fn read(file: &std::fs::File, policy: &DataPolicy) {
        let mut trail = SourceTrail::new(file.as_fd(), policy);
        let mut piece = vec![0; 100_000];
        for at in (0..301).map(|number| number * 100_000) {
            file.read_exact_at(&mut piece, at).unwrap();
            trail.after_read(file.as_fd(), &(at..at + 100_000));
        }
        trail.finish(file.as_fd());
    }

    #[test]
    fn an_uncached_write_has_all_bytes_and_leaves_no_pages() {
        let file = tempfile::tempfile().unwrap();
        let device = Device::of(&file).unwrap();
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        for writes in [UncachedWrites::default(), UncachedWrites { refused: AtomicBool::new(true) }]
        {
            let drops_itself = writes.write(file.as_fd(), &bytes, 5000).unwrap();
            assert!(!(drops_itself && writes.refused.load(Ordering::Relaxed)));
            let mut read = vec![0; bytes.len()];
            file.read_exact_at(&mut read, 5000).unwrap();
            assert_eq!(read, bytes);
            // What was read meanwhile may stay, too.
            release(file.as_fd(), &(0..105_000)).unwrap();
            let asked = Asked { fd: file.as_fd(), quirk: device.quirk };
            let left = cached_bytes(asked, 0, 105_000);
            assert!(device.quirk.name == "tmpfs" || left.is_none_or(|left| left == 0), "{left:?}");
        }
    }

    #[test]
    fn what_is_written_and_read_leaves_no_pages() {
        let file = tempfile::tempfile().unwrap();
        let device = Device::of(&file).unwrap();
        if device.quirk.name == "tmpfs" {
            println!("ignored: the pages of tmpfs are its storage");
            return;
        }
        let cached = |range: Range<u64>| {
            let asked = Asked { fd: file.as_fd(), quirk: device.quirk };
            cached_bytes(asked, range.start, range.end - range.start)
        };
        for policy in [policy(Cache::Drop), full()] {
            write(&file, &policy);
            assert!(cached(0..FILE_BYTES).is_none_or(|left| left == 0), "{policy:?}");
        }
        for policy in [policy(Cache::Drop), policy(Cache::Restore), full()] {
            read(&file, &policy);
            assert!(cached(0..FILE_BYTES).is_none_or(|left| left == 0), "{policy:?}");
        }
        // What was there stays, and nothing else.
        let mut piece = vec![0; 1 << 20];
        file.read_exact_at(&mut piece, 8 << 20).unwrap();
        for policy in [policy(Cache::Restore), full()] {
            let before = cached(0..FILE_BYTES);
            read(&file, &policy);
            assert_eq!(cached(0..FILE_BYTES), before, "{policy:?}");
        }
        for policy in [policy(Cache::Auto), policy(Cache::Keep)] {
            read(&file, &policy);
            write(&file, &policy);
            assert!(cached(0..FILE_BYTES).is_none_or(|left| left >= 20_000_000), "{policy:?}");
        }
    }
}
