//! The bulk of a copy from file to file, by several workers: the same bytes and the same records as
//! one after the other, for records of a file are counted and not seen.
//!
//! A [`Transfer`] moves it. Whatever goes wrong is left to the plain loop, which goes on from the last
//! whole record before it and reports it.

use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, Stat, fstat, fstatfs};
use haul_sys::{Call, CallError, Errno};

use crate::method::job::{Behind, Extent, FileJob};
use crate::method::pair::{Device, Pair};
use crate::method::policy::{Choice, DataPolicy, Reflink};
use crate::method::{MethodId, Sharing};
use crate::system::kit::{Kit, Watch};
use crate::system::quirk::{self, ReportedSize, of_magic};
use crate::transfer::Transfer;

/// Below this many bytes threads are not worth starting.
const WORTH_BYTES: u64 = 8 << 20;

/// The most workers: they contend for two inodes' locks.
const WORKERS_MAX: usize = 4;

/// Two regular files between which bytes may go in bulk.
pub(super) struct Bulk<'a> {
    source: BorrowedFd<'a>,
    target: BorrowedFd<'a>,
    stat: Stat,
    pair: Pair,
}

/// Which bytes go, and what surrounds them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// The bytes, on both sides.
    pub(super) extent: Extent,
    /// Number of bytes of a record, or of records that are whole on both sides.
    pub(super) unit_bytes: u64,
}

impl<'a> Bulk<'a> {
    /// Returns the two files, and how many bytes from an offset of the source on may go in bulk.
    /// `None` where the plain loop has to move all of them.
    pub(super) fn find(
        source: BorrowedFd<'a>,
        target: BorrowedFd<'a>,
        source_offset: u64,
        most_bytes: u64,
    ) -> Option<(Bulk<'a>, u64)> {
        let (from, to) = (fstat(source).ok()?, fstat(target).ok()?);
        if from.kind() != Kind::Regular || to.kind() != Kind::Regular || from.same_file(&to) {
            return None;
        }
        let bytes = from.size.saturating_sub(source_offset).min(most_bytes);
        if bytes < WORTH_BYTES {
            return None;
        }
        let source_quirk = of_magic(fstatfs(source).ok()?.magic);
        if source_quirk.reported_size == ReportedSize::Guessed {
            return None;
        }
        let pair = Pair::new(
            Device { dev: from.dev, quirk: source_quirk },
            Device { dev: to.dev, quirk: quirk::of(target) },
        );
        Some((Bulk { source, target, stat: from, pair }, bytes))
    }

    /// Copies, and returns how many bytes from the start on arrived without a gap, in whole units.
    /// `tick` is called now and then with how many have arrived, and returns whether to go on.
    pub(super) fn copy(
        &self,
        order: Order,
        policy: &DataPolicy,
        tick: &mut dyn FnMut(u64) -> bool,
    ) -> u64 {
        let Order { extent, unit_bytes } = order;
        let policy = DataPolicy {
            // Records are read and written; blocks that are shared would be neither.
            choice: Choice::Only(MethodId::ReadWrite),
            reflink: Reflink::Never,
            ..policy.clone()
        };
        let job = FileJob::whole(self.source, self.target, &self.stat, &self.pair, &policy);
        let job = job.part(extent);
        let whole = transfer(&job, tick);
        let counted = whole / unit_bytes * unit_bytes;
        let end = extent.target_offset + counted;
        let may_cut = whole < extent.bytes && extent.behind == Behind::Nothing;
        if may_cut && fstat(self.target).is_ok_and(|now| now.size >= end) {
            // What was written behind the last whole unit, and what was reserved.
            let _cut = ftruncate(self.target, end);
        }
        counted
    }
}

/// Moves the job's extent, and returns how many bytes arrived without a gap.
fn transfer(job: &FileJob<'_>, tick: &mut dyn FnMut(u64) -> bool) -> u64 {
    let is_shared = job.ends_target();
    let transfer = Transfer::new(job, if is_shared { Sharing::Several } else { Sharing::Sole });
    let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
    let watch = Watch { stop: &stop, bytes: &bytes, pace: None };
    let mut kit = Kit::new();
    if transfer.prepare(job, &mut kit, watch).is_err() {
        return 0;
    }
    let processors = haul_sys::process::processors();
    let workers = processors.min(WORKERS_MAX).min(transfer.most_workers(job.pair));
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // Fewer workers do the same.
            let _started = std::thread::Builder::new().spawn_scoped(scope, || {
                transfer.work(job, &mut Kit::new(), watch);
            });
        }
        transfer.work_and(job, &mut kit, watch, &mut |_| {
            if tick(bytes.load(Ordering::Relaxed)) {
                return Ok(ControlFlow::Continue(()));
            }
            // The other workers end their ranges early, and the first gap is where they got to.
            stop.store(true, Ordering::Relaxed);
            Err(CallError::new(Call::Read, Errno::CANCELED))
        });
    });
    // The plain loop meets the error again and reports it; but one of writeback is reported only once, so
    // everything is written again.
    match transfer.finish(job, &mut kit, watch) {
        Err(error) if error.of_writeback().is_some() => 0,
        _ => transfer.arrived(job),
    }
}
