//! The executor of one file's bytes: one worker moves it, or several draw ranges from it.
//!
//! Serial is the parallel path with one worker: every worker calls [`Transfer::work`], and
//! [`move_file`] is a transfer with a single worker. Ranges are handed out in rising order and on
//! demand, so no last range drags, and the very last one is held back until all others have
//! arrived: until then the target is shorter than the source, and a run that is killed never
//! leaves a file that looks complete and is not.

mod parts;
mod prepare;
mod report;
mod trial;

use haul_sys::sync::Mutex;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, fstat};

use crate::cache::ledger::Put;
use crate::cache::residency::Cached;
use crate::method::caching::{Caching, Keeper, WINDOW_BYTES, Written, both_sides, caching_if};
use crate::method::error::DataError;
use crate::method::job::{Behind, Change, Extent, FileJob};
use crate::method::ladder::move_range;
use crate::method::moved::Moved;
use crate::method::pair::Pair;
use crate::method::policy::Choice;
use crate::method::report::Refusal;
use crate::method::shape::{Shape, is_a_stream, may_be_a_guess, shape};
use crate::method::sides::{Way, Which};
use crate::method::{AtEnd, FAR_REQUEST_BYTES, MethodId, Portion, RangeJob, Sharing, Want, Zeros};
use crate::system::kit::BUFFER_BYTES;
use crate::system::kit::{Kit, Watch};
use crate::system::quirk::CachedWrites;
use crate::system::retry::retrying;
use crate::system::segment::{Map, Segments};
use crate::verify::recheck::Remains;

use trial::Trial;

pub use parts::Arrived;

pub use crate::method::worth::{
    PARTED_BYTES, WORTH_BYTES, is_worth_a_worker, is_worth_parting, is_worth_sharing,
};

/// Bytes that a worker draws at a time: eight requests, so that drawing costs nothing, and short
/// enough that the last one is done in about a millisecond.
const DRAW_BYTES: u64 = 2 << 20;

/// Files up to this size arrive in one request. The request asks for a byte more than there should be,
/// and so shows whether the file still has the size that it was described with.
pub const SNAPSHOT_BYTES: u64 = crate::system::kit::BUFFER_BYTES as u64;

/// Files up to this size are not described a second time. The kernel reads a larger one in pieces, between
/// which another process may have begun to write; only the times of the file show that.
const UNDIVIDED_BYTES: u64 = 32 << 10;

/// Workers of one file whose writes the kernel makes one after another: one reads meanwhile.
const IN_TURN_WORKERS: usize = 2;

/// Moves all bytes of a file, or of a part of it, with this worker alone. Files of a part are left without
/// `O_DIRECT`, for the caller goes on with them.
pub fn move_file(job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) -> Result<Moved, DataError> {
    if is_a_stream(job) {
        return crate::method::in_order::move_in_order(job, kit, watch);
    }
    let transfer = Transfer::new(job, Sharing::Sole);
    let moved = transfer.prepare(job, kit, watch).and_then(|()| {
        transfer.work(job, kit, watch);
        transfer.finish(job, kit, watch)
    });
    if job.extent.is_some() {
        transfer.keeper.sides.leave_direct(job.source, job.target);
    }
    moved
}

/// Enters a file in the run's ledger. Returns how its pages are treated, and the bytes that were counted.
fn enter(job: &FileJob<'_>) -> (Caching, Option<Put>) {
    let mut put = None;
    let caching = caching_if(job.policy, job.cached_bytes(), || {
        put = job.policy.ledger.put(both_sides(job.bytes()), job.bytes());
        put.is_some()
    });
    (caching, put)
}

/// A file that is being moved, by one worker or several.
pub struct Transfer {
    sharing: Sharing,
    shape: Shape,
    keeper: Keeper,
    /// What the run's ledger counts for this file.
    put: Option<Put>,
    draws: Mutex<Draws>,
    /// Set when nothing more is to be drawn: the file was shared, a range failed, the run stops.
    ended: AtomicBool,
    moved: AtomicU64,
    /// Those of the moved bytes that were not written: zeros, and blocks that the kernel may have shared.
    left_out: AtomicU64,
    /// The index of the method that moved the range that came last.
    method: AtomicUsize,
    /// Number of workers in [`Transfer::work`].
    workers: AtomicUsize,
    /// What the trial says, if there is one: whether the worker that drew last was alone, and whether the
    /// file is for one worker.
    is_alone: AtomicBool,
    is_for_one: AtomicBool,
    /// Whether a flush for lack of space came between two parts of a range.
    in_pieces: AtomicBool,
    /// What is found out for reports, where the policy asks for them.
    told: Option<Told>,
}

struct Draws {
    segments: Segments,
    remains: Remains,
    tail: Option<Range<u64>>,
    failure: Option<DataError>,
    /// The first byte that did not arrive, as far as is known: the least of those at which a range
    /// ended, for ranges are drawn in rising order.
    gap: Option<u64>,
    /// Whether space was reserved or the size was set, so that an early end has to be cut.
    reserved: bool,
    written: Written,
    trial: Option<Trial>,
}

struct Told {
    started: Instant,
    /// Files of the run for which this one is asked.
    files: u64,
    before: Cached,
    ranges: AtomicU64,
    notes: Mutex<Vec<Refusal>>,
}

impl Transfer {
    /// Starts a transfer of which nothing is done yet. Takes the job as its workers will have it.
    #[must_use]
    pub fn new(job: &FileJob<'_>, sharing: Sharing) -> Transfer {
        let shape = shape(job);
        let files = job.stands_for();
        let told = (files > 0).then(|| Told {
            started: Instant::now(),
            files,
            before: job.cached(),
            ranges: AtomicU64::new(0),
            notes: Mutex::default(),
        });
        let (caching, put) = enter(job);
        let trial = Trial::of(job, sharing, shape, caching.way);
        let is_for_one = trial.is_some();
        Transfer {
            sharing,
            shape,
            keeper: Keeper::prepare(caching, job),
            put,
            draws: Mutex::new(Draws {
                segments: match job.extent {
                    Some(_) => Segments::dense(job.wanted()),
                    None => Segments::new(shape.map, job.stat.size, job.stat.allocated_bytes()),
                },
                remains: Remains::default(),
                tail: None,
                failure: None,
                gap: None,
                reserved: false,
                written: Written::default(),
                trial,
            }),
            ended: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            method: AtomicUsize::new(MethodId::ReadWrite.index()),
            workers: AtomicUsize::new(0),
            is_alone: AtomicBool::new(false),
            in_pieces: AtomicBool::new(false),
            is_for_one: AtomicBool::new(is_for_one),
            told,
        }
    }

    /// Tells whether nothing is left to draw, as when blocks were shared at once.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns whether several workers may move it, now or at another time.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Several
    }

    /// Returns how many workers may move it before they are only in each other's way. The number may change
    /// while they do.
    #[must_use]
    pub fn most_workers(&self, pair: &Pair) -> usize {
        let is_cached = self.keeper.sides.way(Which::Target) != Way::Direct;
        // Workers that wait for requests to a server hold no lock of the target meanwhile.
        let waits = pair.source.is_remote();
        match self.sharing {
            Sharing::Sole => 1,
            Sharing::Several if self.is_for_one.load(Ordering::Relaxed) => 1,
            Sharing::Several
                if is_cached && !waits && pair.target.cached_writes == CachedWrites::InTurn =>
            {
                IN_TURN_WORKERS
            }
            Sharing::Several => usize::MAX,
        }
    }

    /// Returns what a range is of the file.
    fn portion(&self, job: &FileJob<'_>, range: &Range<u64>) -> Portion {
        /// The block size of every common file system; one with larger blocks answers `EINVAL`.
        const BLOCK_BYTES: u64 = 4096;
        let is_whole = |offset: u64| offset.is_multiple_of(BLOCK_BYTES);
        match job.extent {
            _ if *range != job.wanted() => Portion::Bytes,
            None => Portion::File,
            Some(part) => {
                let starts_whole = is_whole(part.source_offset) && is_whole(part.target_offset);
                if starts_whole && is_whole(part.bytes) { Portion::Blocks } else { Portion::Bytes }
            }
        }
    }

    fn want<'a>(&'a self, job: &FileJob<'a>, portion: Portion) -> Want<'a> {
        Want {
            policy: job.policy,
            file_bytes: job.bytes(),
            file_end: job.file_end(),
            portion,
            sharing: if self.is_alone.load(Ordering::Relaxed) {
                Sharing::Sole
            } else {
                self.sharing
            },
            open_files: job.open_files,
            zeros: self.shape.zeros,
            left_out: &self.left_out,
            way: self.keeper.caching.way,
            sides: &self.keeper.sides,
            digests: job.digests,
            notes: self.told.as_ref().map(|told| &told.notes),
        }
    }

    fn range_job<'a>(
        &'a self,
        job: &FileJob<'a>,
        range: Range<u64>,
        watch: Watch<'a>,
    ) -> RangeJob<'a> {
        let portion = self.portion(job, &range);
        let probes = portion == Portion::File && self.probes_end(job);
        RangeJob {
            source: job.source,
            target: job.target,
            source_offset: range.start,
            target_offset: job.target_at(range.start),
            end: range.end,
            at_end: if probes { AtEnd::Probe } else { AtEnd::Stop },
            pair: job.pair,
            want: Want { zeros: self.zeros(job), ..self.want(job, portion) },
            watch,
        }
    }

    /// Tells whether a method that can is to find out that the source has not grown.
    fn probes_end(&self, job: &FileJob<'_>) -> bool {
        self.sharing == Sharing::Sole
            && self.shape.map == Map::Dense
            && job.extent.is_none()
            && job.stat.kind() == Kind::Regular
            && (1..=SNAPSHOT_BYTES).contains(&job.stat.size)
    }

    /// Tells whether reading has shown that the source had no other size than it was described with. An
    /// empty one is what its description says. Of a source that was read in pieces the bytes may have
    /// changed between them.
    fn has_shown_size(&self, job: &FileJob<'_>) -> bool {
        let in_pieces = self.in_pieces.load(Ordering::Relaxed);
        let has_probed = self.probes_end(job) && self.method().method().probes_end();
        job.stat.size == 0 || (has_probed && !in_pieces)
    }

    /// Returns what becomes of zeros. What is read because a map was not believed may be holes.
    fn zeros(&self, job: &FileJob<'_>) -> Zeros {
        let may_skip = self.shape.map == Map::Ask && job.policy.choice == Choice::Auto;
        let is_doubted = || self.draws.lock().segments.is_doubted();
        if may_skip && is_doubted() { Zeros::Skip } else { self.shape.zeros }
    }

    fn method(&self) -> MethodId {
        MethodId::at(self.method.load(Ordering::Relaxed)).unwrap_or(MethodId::ReadWrite)
    }

    /// Takes the ranges, in rising order, that an earlier run has moved. Called before any worker starts.
    pub fn resume(&self, done: Vec<Range<u64>>) {
        self.draws.lock().remains = Remains::after(done);
    }

    /// Draws ranges and moves them until there are none. Every worker calls it; the failure of
    /// one ends it for all.
    pub fn work(&self, job: &FileJob<'_>, kit: &mut Kit, watch: Watch<'_>) {
        self.work_and(job, kit, watch, &mut |_| Ok(ControlFlow::Continue(())));
    }

    /// The same, and calls `after` after each range, with how many bytes it has; its failure ends
    /// the transfer. `Break` ends the work of this worker alone.
    pub fn work_and(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
        after: &mut dyn FnMut(u64) -> haul_sys::Result<ControlFlow<()>>,
    ) {
        self.workers.fetch_add(1, Ordering::Relaxed);
        self.work_until(job, kit, watch, after);
        self.workers.fetch_sub(1, Ordering::Relaxed);
    }

    fn work_until(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
        after: &mut dyn FnMut(u64) -> haul_sys::Result<ControlFlow<()>>,
    ) {
        while let Some(range) = self.draw(job) {
            let ours = range.clone();
            if !self.move_one(job, self.range_job(job, range, watch), kit)
                || !self.drop_behind(job, &ours, watch)
            {
                return;
            }
            match after(ours.end - ours.start) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => {
                    self.fail_at(ours.end, DataError::Call(error));
                    return;
                }
            }
        }
    }

    /// Moves one range and books it; `false` when that ended the transfer.
    fn move_one(&self, job: &FileJob<'_>, range: RangeJob<'_>, kit: &mut Kit) -> bool {
        let (start, asked) = (range.source_offset, range.end - range.source_offset);
        if let Some(told) = &self.told {
            told.ranges.fetch_add(1, Ordering::Relaxed);
        }
        match move_range(range, job.pair, kit) {
            Ok(moved) => {
                self.moved.fetch_add(moved.bytes, Ordering::Relaxed);
                if moved.method == MethodId::CopyRange && job.pair.target.reflinks {
                    self.left_out.fetch_add(moved.bytes, Ordering::Relaxed);
                }
                self.method.store(moved.method.index(), Ordering::Relaxed);
                self.in_pieces.fetch_or(moved.in_pieces, Ordering::Relaxed);
                if moved.bytes != asked {
                    self.fail_at(start + moved.bytes.min(asked), DataError::Changed);
                }
                moved.bytes == asked
            }
            Err((bytes, error)) => {
                self.fail_at(start + bytes, error);
                false
            }
        }
    }

    /// Keeps the page cache small where the policy wants that and the way does not do it by itself;
    /// `false` when that failed.
    fn drop_behind(&self, job: &FileJob<'_>, range: &Range<u64>, watch: Watch<'_>) -> bool {
        if !self.keeper.drops_behind() || self.method() == MethodId::Reflink {
            return true;
        }
        self.keeper.start(job, range);
        let due = self.draws.lock().written.push(range.clone(), &job.policy.ledger);
        for range in due {
            if let Err(error) = self.keeper.drop_range(job, &range, &watch) {
                self.fail(error);
                return false;
            }
        }
        true
    }

    fn fail(&self, error: DataError) {
        let mut draws = self.draws.lock();
        // The kernel reports a failed writeback once, so no other failure may stand before it.
        if draws.failure.is_none() || error.of_writeback().is_some() {
            draws.failure = Some(error);
        }
        drop(draws);
        self.ended.store(true, Ordering::Relaxed);
    }

    fn fail_at(&self, gap: u64, error: DataError) {
        let mut draws = self.draws.lock();
        draws.gap = Some(draws.gap.map_or(gap, |other| other.min(gap)));
        drop(draws);
        self.fail(error);
    }

    /// Cuts what did not arrive in whole at its first gap, and gives reserved space back: a target
    /// that was there before stays, and is to hold nothing but a beginning of the source. What a
    /// digests remembers may be gone on from, gaps and all.
    fn cut(&self, job: &FileJob<'_>, watch: &Watch<'_>) {
        let gap = self
            .draws
            .lock()
            .first_gap()
            .filter(|_| job.ends_target())
            .map(|gap| job.target_at(gap));
        let is_whole = job.target_kind == Kind::Regular && job.digests.is_none();
        let cut = gap.filter(|_| is_whole);
        let is_longer = |gap: &u64| fstat(job.target).is_ok_and(|now| now.size >= *gap);
        if let Some(gap) = cut.filter(is_longer) {
            // The report is about why the bytes did not arrive, not about this call.
            let _second_error = retrying(watch, || ftruncate(job.target, gap));
        }
    }

    /// The most bytes of one draw.
    fn draw_bytes(&self, job: &FileJob<'_>) -> u64 {
        let request = job.policy.request_bytes(0) as u64;
        if let Some(Extent { behind: Behind::Bytes { unit_bytes }, .. }) = job.extent {
            // Each draw is one request.
            let request = job.policy.request_bytes(BUFFER_BYTES) as u64;
            return (request / unit_bytes.max(1)).max(1) * unit_bytes.max(1);
        }
        match self.sharing {
            // A draw costs nothing next to a trip, and small ones go round among many.
            Sharing::Several if job.pair.is_remote() => request.max(FAR_REQUEST_BYTES as u64),
            Sharing::Several => DRAW_BYTES.max(request),
            Sharing::Sole if self.keeper.drops_behind() => WINDOW_BYTES.max(request),
            Sharing::Sole => u64::MAX,
        }
    }

    /// Returns the next range, or `None` when there is none for this worker. The range that ends
    /// the file is kept for [`Transfer::finish`] where several work.
    fn draw(&self, job: &FileJob<'_>) -> Option<Range<u64>> {
        let mut draws = self.draws.lock();
        let range = self.draw_from(&mut draws, job, self.draw_bytes(job))?;
        if let Some(trial) = &mut draws.trial {
            self.try_out(trial, range.end - range.start);
        }
        Some(range)
    }

    fn draw_from(&self, draws: &mut Draws, job: &FileJob<'_>, most: u64) -> Option<Range<u64>> {
        if self.ended.load(Ordering::Relaxed) {
            return None;
        }
        let end = job.wanted().end;
        loop {
            if let Some(range) = draws.remains.next() {
                return Some(range);
            }
            match draws.segments.next(job.source, most) {
                Ok(Some(range)) if range.end == end && self.sharing == Sharing::Several => {
                    draws.tail = Some(range);
                    return None;
                }
                Ok(Some(range)) => draws.remains.offer(range),
                Ok(None) => return None,
                Err(error) => {
                    draws.failure.get_or_insert(DataError::Call(error));
                    self.ended.store(true, Ordering::Relaxed);
                    return None;
                }
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
            let mut draws = self.draws.lock();
            (draws.tail.take(), draws.failure)
        };
        if let (Some(tail), None) = (tail, failed) {
            self.move_one(job, self.range_job(job, tail, watch), kit);
        }
        let (failure, reserved) = {
            let draws = self.draws.lock();
            (draws.failure, draws.reserved)
        };
        if let Some(error) = failure {
            let answer = self.explain(job, error, reserved, watch);
            if answer.is_err() {
                self.cut(job, &watch);
            }
            return answer;
        }
        // A hole at the end has no byte that would set the size.
        if self.shape.map == Map::Ask || self.shape.zeros == Zeros::Skip {
            retrying(&watch, || ftruncate(job.target, job.stat.size))?;
        }
        let has_shown_size = job.extent.is_some() || self.has_shown_size(job);
        let is_undivided = job.extent.is_some() || job.stat.size <= UNDIVIDED_BYTES;
        let change = if has_shown_size && is_undivided { Change::None } else { job.change()? };
        if change == Change::Bytes || (!has_shown_size && job.has_more(&watch)?) {
            return Err(DataError::Changed);
        }
        if self.method() == MethodId::Reflink {
            self.put.iter().for_each(Put::take_back);
        } else {
            self.keeper.settle(job, &watch)?;
        }
        Ok(Moved { change, ..self.moved(job) })
    }

    /// Tells a source that shrank from one whose size was never true, and gives reserved space
    /// behind the end back.
    fn explain(
        &self,
        job: &FileJob<'_>,
        error: DataError,
        reserved: bool,
        watch: Watch<'_>,
    ) -> Result<Moved, DataError> {
        let bytes = self.moved.load(Ordering::Relaxed);
        let is_end_known = job.extent.is_some() || !may_be_a_guess(job);
        if error != DataError::Changed || is_end_known || job.change()? != Change::None {
            return Err(error);
        }
        if self.sharing == Sharing::Sole && self.shape.map == Map::Dense {
            // It ended early and says that nothing happened: its size is a guess.
            if reserved || self.shape.zeros == Zeros::Skip {
                retrying(&watch, || ftruncate(job.target, bytes))?;
            }
            return Ok(self.moved(job));
        }
        Err(error)
    }
}
