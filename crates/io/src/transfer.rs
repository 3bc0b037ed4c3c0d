//! The executor of one file's bytes: one worker moves it, or several draw ranges from it.
//!
//! Serial is the parallel path with one worker: [`Transfer::work`] is what everybody calls, and
//! [`move_file`] is a transfer with nobody else. Ranges are handed out in rising order and on
//! demand, so no last range drags, and the very last one is held back until all others have
//! arrived: until then the target is shorter than the source, and a run that is killed never
//! leaves a file that looks complete and is not.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use haul_sys::data::{Allocate, fallocate, ftruncate};
use haul_sys::fs::{Kind, Stat, fstat};

use crate::ladder::{DataError, Detection, Moved, move_range};
use crate::method::{RangeJob, Sharing, Want, Zeros, retrying};
use crate::quirk::{HolesTold, Preallocate, SizeTold};
use crate::segment::{Map, Segments};
use crate::{DataPolicy, Kit, Pair, Sparse, Watch};

/// Bytes that a worker draws at a time: eight requests, so that drawing costs nothing, and short
/// enough that the last one is done in about a millisecond.
const DRAW_BYTES: u64 = 2 << 20;

/// From this size on space is reserved before writing; below it the transaction costs more than
/// it saves.
const PREALLOCATE_BYTES: u64 = 4 << 20;

/// Files up to this size arrive in one or two requests, so that nobody can change them in
/// between: they are not looked at a second time.
const SNAPSHOT_BYTES: u64 = crate::kit::BUFFER_BYTES as u64;

/// Everything about one file that moving its bytes needs.
#[derive(Clone, Copy)]
pub struct FileJob<'a> {
    /// Where the bytes come from.
    pub source: BorrowedFd<'a>,
    /// Where they go: empty, and open for writing.
    pub target: BorrowedFd<'a>,
    /// What the source was when it was opened.
    pub stat: &'a Stat,
    /// What kind of file the target is.
    pub target_kind: Kind,
    /// The two file systems.
    pub pair: &'a Pair,
    /// The run's policy.
    pub policy: &'a DataPolicy,
}

/// What is to be done with a file's zeros and holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    map: Map,
    zeros: Zeros,
}

fn shape(job: &FileJob<'_>) -> Shape {
    let holes = job.stat.may_have_holes();
    let trusted = job.pair.source.holes_told == HolesTold::Trusted;
    match job.policy.sparse {
        Sparse::Never => Shape { map: Map::Dense, zeros: Zeros::Write },
        Sparse::Always => {
            Shape { map: if holes && trusted { Map::Ask } else { Map::Dense }, zeros: Zeros::Skip }
        }
        Sparse::Auto if holes && trusted => Shape { map: Map::Ask, zeros: Zeros::Write },
        Sparse::Auto if holes => Shape { map: Map::Dense, zeros: Zeros::Skip },
        Sparse::Auto => Shape { map: Map::Dense, zeros: Zeros::Write },
    }
}

/// Tells whether bytes have to be read and written in order: only reading to the end shows how
/// much there is, or the target has no offsets, or keeps what is not written to (a device).
fn is_a_stream(job: &FileJob<'_>) -> bool {
    job.stat.kind() != Kind::Regular
        || job.target_kind != Kind::Regular
        || job.pair.source.size_told == SizeTold::Guessed
        || (job.stat.size == 0 && job.pair.source.holes_told == HolesTold::Doubted)
}

/// Moves all bytes of a file with this worker alone.
pub fn move_file(job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) -> Result<Moved, DataError> {
    if is_a_stream(job) {
        return move_stream(job, kit, watch);
    }
    let transfer = Transfer::new(job, Sharing::Sole);
    transfer.prepare(job, kit, watch)?;
    transfer.work(job, kit, watch);
    transfer.finish(job, kit, watch)
}

/// Moves a file whose size is not known: reads to the end, in order.
fn move_stream(job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) -> Result<Moved, DataError> {
    let buffer = kit.buffer()?;
    let mut total = 0_u64;
    loop {
        if watch.stopped() {
            return Err(DataError::Stopped);
        }
        let filled = retrying(&watch, || haul_sys::data::read(job.source, buffer))?;
        if filled == 0 {
            return Ok(Moved {
                bytes: total,
                line: crate::method::LADDER.len() - 1,
                detection: Detection::No,
            });
        }
        let mut left = buffer.get(..filled).unwrap_or(&[]);
        while !left.is_empty() {
            let written = retrying(&watch, || haul_sys::data::write(job.target, left))?;
            if written == 0 {
                return Err(DataError::NoProgress);
            }
            left = left.get(written..).unwrap_or(&[]);
            total += written as u64;
            watch.moved(written as u64);
        }
    }
}

/// A file that is being moved, by one worker or several.
pub struct Transfer {
    sharing: Sharing,
    shape: Shape,
    draws: Mutex<Draws>,
    /// Set when nothing more is to be drawn: the file was shared, a range failed, the run stops.
    ended: AtomicBool,
    moved: AtomicU64,
    line: AtomicUsize,
}

struct Draws {
    segments: Segments,
    tail: Option<Range<u64>>,
    failure: Option<DataError>,
    preallocated: bool,
}

/// Tells whether a file is worth several workers: it takes longer than waking them.
#[must_use]
pub fn is_worth_sharing(job: &FileJob<'_>) -> bool {
    /// At 3 GB/s this takes two milliseconds; a worker wakes in a twentieth of one.
    const WORTH_BYTES: u64 = 8 << 20;
    job.stat.size >= WORTH_BYTES && !is_a_stream(job)
}

impl Transfer {
    /// Starts a transfer of which nothing is done yet.
    #[must_use]
    pub fn new(job: &FileJob<'_>, sharing: Sharing) -> Transfer {
        let shape = shape(job);
        Transfer {
            sharing,
            shape,
            draws: Mutex::new(Draws {
                segments: Segments::new(shape.map, job.stat.size),
                tail: None,
                failure: None,
                preallocated: false,
            }),
            ended: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            line: AtomicUsize::new(crate::method::LADDER.len() - 1),
        }
    }

    /// Shares the source's blocks where that is possible, which ends the transfer, and reserves
    /// space where that pays. One worker calls it, before any works.
    pub fn prepare(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
    ) -> Result<(), DataError> {
        if self.shape.map == Map::Ask || self.sharing == Sharing::Several {
            self.share_blocks(job, kit, watch)?;
        }
        let dense = self.shape == Shape { map: Map::Dense, zeros: Zeros::Write };
        let pays = job.pair.target.preallocate == Preallocate::Pays;
        if dense
            && pays
            && job.stat.size >= PREALLOCATE_BYTES
            && !self.ended.load(Ordering::Relaxed)
            && !self.expects_reflink(job)
        {
            // A refusal other than a full disk only means that writing will allocate.
            match retrying(&watch, || fallocate(job.target, 0, job.stat.size, Allocate::KeepSize)) {
                Ok(()) => self.lock().preallocated = true,
                Err(error) if is_full(error.errno) => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Tells whether the whole file will be tried as a reflink first, for then space that was
    /// reserved would be thrown away again.
    fn expects_reflink(&self, job: &FileJob<'_>) -> bool {
        const REFLINK_LINE: usize = 0;
        let want = self.want(job, true);
        self.sharing == Sharing::Sole
            && !job.pair.is_refused(REFLINK_LINE)
            && crate::method::LADDER
                .first()
                .is_some_and(|method| method.fits(job.pair, &want) == crate::method::Fit::Yes)
    }

    fn share_blocks(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
    ) -> Result<(), DataError> {
        let Some(reflink) = crate::method::LADDER.first() else { return Ok(()) };
        let want = self.want(job, true);
        if reflink.fits(job.pair, &want) != crate::method::Fit::Yes || job.pair.is_refused(0) {
            return Ok(());
        }
        let range = self.range_job(job, 0..job.stat.size, true, watch);
        match reflink.attempt(&range, kit) {
            crate::method::Attempt::Done(bytes) => {
                self.moved.store(bytes, Ordering::Relaxed);
                self.line.store(0, Ordering::Relaxed);
                self.ended.store(true, Ordering::Relaxed);
                Ok(())
            }
            crate::method::Attempt::NextMethod { cause, .. }
                if job.policy.reflink != crate::Reflink::Always =>
            {
                use crate::errno::{Memory, Verdict, verdict};
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    job.pair.refuse(0);
                }
                Ok(())
            }
            crate::method::Attempt::NextMethod { cause, .. } => Err(cause.into()),
            crate::method::Attempt::Failed { cause, .. } => Err(match cause {
                crate::method::Cause::Call(error) => error.into(),
                crate::method::Cause::Stopped => DataError::Stopped,
                crate::method::Cause::NoProgress => DataError::NoProgress,
            }),
        }
    }

    fn want<'a>(&self, job: &FileJob<'a>, whole: bool) -> Want<'a> {
        Want {
            policy: job.policy,
            file_bytes: job.stat.size,
            whole,
            sharing: self.sharing,
            zeros: self.shape.zeros,
        }
    }

    fn range_job<'a>(
        &self,
        job: &FileJob<'a>,
        range: Range<u64>,
        whole: bool,
        watch: Watch<'a>,
    ) -> RangeJob<'a> {
        RangeJob {
            source: job.source,
            target: job.target,
            offset: range.start,
            end: range.end,
            want: self.want(job, whole),
            watch,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Draws> {
        // A worker that panicked ends the process, so a poisoned lock is never seen; its data
        // would be sound all the same, for every change to it is one assignment.
        self.draws.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Draws ranges and moves them until there are none. Every worker calls it; the failure of
    /// one ends it for all.
    pub fn work(&self, job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) {
        while let Some(range) = self.draw(job) {
            let whole = range.start == 0 && range.end == job.stat.size;
            if !self.move_one(job, self.range_job(job, range, whole, watch), kit) {
                return;
            }
        }
    }

    /// Moves one range and books it; `false` when that ended the transfer.
    fn move_one(&self, job: &FileJob<'_>, range: RangeJob<'_>, kit: &mut Kit) -> bool {
        let asked = range.end - range.offset;
        match move_range(range, job.pair, kit) {
            Ok(moved) => {
                self.moved.fetch_add(moved.bytes, Ordering::Relaxed);
                self.line.store(moved.line, Ordering::Relaxed);
                if moved.bytes < asked {
                    self.fail(DataError::Changed);
                }
                moved.bytes == asked
            }
            Err((_, error)) => {
                self.fail(error);
                false
            }
        }
    }

    fn fail(&self, error: DataError) {
        self.lock().failure.get_or_insert(error);
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Returns the next range, or `None` when there is none for this worker. The range that ends
    /// the file is kept for [`Transfer::finish`] where several work.
    fn draw(&self, job: &FileJob<'_>) -> Option<Range<u64>> {
        if self.ended.load(Ordering::Relaxed) {
            return None;
        }
        let most = match self.sharing {
            Sharing::Sole => u64::MAX,
            Sharing::Several => DRAW_BYTES,
        };
        let mut draws = self.lock();
        match draws.segments.next(job.source, most) {
            Ok(Some(range)) if range.end == job.stat.size && self.sharing == Sharing::Several => {
                draws.tail = Some(range);
                None
            }
            Ok(range) => range,
            Err(error) => {
                draws.failure.get_or_insert(DataError::Call(error));
                self.ended.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Moves the last range, sets the size and looks whether the source is still what it was.
    /// The last worker calls it, once all others have come back from [`Transfer::work`].
    pub fn finish(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
    ) -> Result<Moved, DataError> {
        let (tail, failed) = {
            let mut draws = self.lock();
            (draws.tail.take(), draws.failure)
        };
        if let (Some(tail), None) = (tail, failed) {
            self.move_one(job, self.range_job(job, tail, false, watch), kit);
        }
        let (failure, preallocated) = {
            let draws = self.lock();
            (draws.failure, draws.preallocated)
        };
        if let Some(error) = failure {
            return self.explain(job, error, preallocated, watch);
        }
        // A hole at the end has no byte that would set the size.
        if self.shape.map == Map::Ask || self.shape.zeros == Zeros::Skip {
            retrying(&watch, || ftruncate(job.target, job.stat.size))?;
        }
        if job.stat.size > SNAPSHOT_BYTES && has_changed(job)? {
            return Err(DataError::Changed);
        }
        Ok(self.moved())
    }

    fn moved(&self) -> Moved {
        let line = self.line.load(Ordering::Relaxed);
        // The first line shares blocks, holes included.
        let detection = match (line, self.shape.map, self.shape.zeros) {
            (0, ..) => Detection::Unknown,
            (_, Map::Dense, Zeros::Write) => Detection::No,
            (_, Map::Dense, Zeros::Skip) => Detection::Zeros,
            (_, Map::Ask, Zeros::Write) => Detection::Holes,
            (_, Map::Ask, Zeros::Skip) => Detection::HolesAndZeros,
        };
        Moved { bytes: self.moved.load(Ordering::Relaxed), line, detection }
    }

    /// Tells a source that shrank from one whose size was never true, and gives reserved space
    /// behind the end back.
    fn explain(
        &self,
        job: &FileJob<'_>,
        error: DataError,
        preallocated: bool,
        watch: Watch<'_>,
    ) -> Result<Moved, DataError> {
        let bytes = self.moved.load(Ordering::Relaxed);
        if error != DataError::Changed || has_changed(job)? {
            return Err(error);
        }
        if self.sharing == Sharing::Sole && self.shape.map == Map::Dense {
            // It ended early and says that nothing happened: its size is a guess.
            if preallocated || self.shape.zeros == Zeros::Skip {
                retrying(&watch, || ftruncate(job.target, bytes))?;
            }
            return Ok(self.moved());
        }
        Err(error)
    }
}

fn has_changed(job: &FileJob<'_>) -> Result<bool, DataError> {
    let now = fstat(job.source)?;
    let was = job.stat;
    Ok(now.size != was.size || now.mtime != was.mtime || now.ctime != was.ctime)
}

fn is_full(errno: haul_sys::Errno) -> bool {
    matches!(errno, haul_sys::Errno::NOSPC | haul_sys::Errno::DQUOT | haul_sys::Errno::FBIG)
}
