//! Ranges of one file, each to a file of its own, by several workers.
//!
//! A [`Transfer`](crate::transfer::Transfer) moves each range: it shares blocks where the file system
//! can and the range is made of whole ones, so that a file of any size is split in an instant, and
//! moves pages within the kernel elsewhere. A piece is named before the next one, by the worker that
//! takes it, so that names and messages come in order.

use haul_sys::sync::Mutex;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::fs::{Stat, fstat};
use haul_sys::{Call, CallError, Errno};

use crate::method::MethodId;
use crate::method::error::DataError;
use crate::method::job::{Behind, Extent, FileJob};
use crate::method::pair::{Device, Pair};
use crate::method::policy::{DataPolicy, Preference};
use crate::method::sides::Which;
use crate::method::trail::PartsTrail;
use crate::stream::NEVER;
use crate::system::kit::{Kit, Watch};
use crate::system::quirk::UNKNOWN;
use crate::transfer::move_file;

/// Below this a second worker is not worth waking.
const WORTH_BYTES: u64 = 8 << 20;

/// Why a range did not arrive, as far as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// All of it arrived.
    All,
    /// The source ended before, for it became shorter.
    Shrank,
    /// The source could not be read.
    Unread(Errno),
    /// The target could not be written.
    Unwritten(Errno),
}

/// The source of all ranges, and what its workers have in common.
struct Pieces<'a> {
    source: BorrowedFd<'a>,
    stat: Stat,
    policy: DataPolicy,
    /// The two file systems: all pieces are in one directory, and the first one tells.
    pair: OnceLock<Pair>,
    trail: PartsTrail,
}

impl<'a> Pieces<'a> {
    fn new(source: BorrowedFd<'a>, policy: &DataPolicy) -> Result<Pieces<'a>, CallError> {
        // One call moves 4 MiB: with a worker for each processor, calls count more than copies.
        let policy = DataPolicy {
            preferences: vec![Preference { from_bytes: 0, methods: vec![MethodId::Sendfile] }],
            ..policy.clone()
        };
        Ok(Pieces {
            source,
            stat: fstat(source)?,
            policy,
            pair: OnceLock::new(),
            trail: PartsTrail::default(),
        })
    }

    fn pair(&self, target: BorrowedFd<'_>) -> &Pair {
        self.pair.get_or_init(|| {
            let unknown = Device { dev: 0, quirk: &UNKNOWN };
            let of = |file| Device::of(file).unwrap_or(unknown);
            Pair::new(of(self.source), of(target))
        })
    }

    /// Moves a range to the beginning of an empty file.
    fn move_range(&self, range: &Range<u64>, target: BorrowedFd<'_>, kit: &mut Kit) -> Moved {
        let extent = Extent {
            source_offset: range.start,
            target_offset: 0,
            bytes: range.end - range.start,
            behind: Behind::Nothing,
        };
        self.trail.before(self.source, &self.stat, extent.bytes, &self.policy);
        let pair = self.pair(target);
        let job = FileJob::whole(self.source, target, &self.stat, pair, &self.policy)
            .sharing(Which::Source)
            .part(extent);
        let bytes = AtomicU64::new(0);
        let moved = move_file(&job, kit, Watch { stop: &NEVER, bytes: &bytes, pace: None });
        self.trail.after(self.source, range);
        match moved {
            Ok(_) => Moved::All,
            Err(DataError::Changed) => ended(self.source, range.end),
            Err(DataError::Call(error) | DataError::Refused { cause: error, .. }) => blamed(error),
            Err(DataError::Stopped | DataError::NoProgress | DataError::Unfit { .. }) => {
                Moved::Unread(Errno::CANCELED)
            }
        }
    }
}

/// Tells why a source ended before the end of a range. One that has that size all the same never had
/// as many bytes.
fn ended(source: BorrowedFd<'_>, end: u64) -> Moved {
    match fstat(source) {
        Ok(stat) if stat.size < end => Moved::Shrank,
        Ok(_) => Moved::All,
        Err(error) => Moved::Unread(error.errno),
    }
}

/// Tells which side a failed call is about. Of a call on both sides the kernel does not say, but some
/// errnos are only those of a write.
fn blamed(error: CallError) -> Moved {
    match (error.call, error.errno) {
        (Call::Read | Call::Pread, errno) => Moved::Unread(errno),
        (
            Call::Write
            | Call::Pwrite
            | Call::Fallocate
            | Call::Ftruncate
            | Call::SyncFileRange
            | Call::Fsync,
            errno,
        )
        | (_, errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::PIPE | Errno::ROFS)) => {
            Moved::Unwritten(errno)
        }
        (_, errno) => Moved::Unread(errno),
    }
}

/// Moves ranges to files of their own. `make` names and opens the next one's file, in order, or ends
/// the run; `done` is called for each file when its bytes are there.
///
/// The first failure ends everything; what is being moved is finished.
pub fn move_ranges<E: Send, T: AsFd + Send>(
    source: BorrowedFd<'_>,
    total_bytes: u64,
    policy: &DataPolicy,
    make: &mut (dyn FnMut() -> Result<Option<(Range<u64>, T)>, E> + Send),
    done: &(dyn Fn(T, Moved) -> Result<(), E> + Sync),
) -> Result<(), E> {
    let pieces = Pieces::new(source, policy);
    let make = Mutex::new(make);
    let failure: Mutex<Option<E>> = Mutex::new(None);
    let ended = AtomicBool::new(false);
    let fail = |error| {
        ended.store(true, Ordering::Relaxed);
        failure.lock().get_or_insert(error);
    };
    let work = || {
        let mut kit = Kit::new();
        while !ended.load(Ordering::Relaxed) {
            let drawn = (make.lock())();
            let (range, target) = match drawn {
                Ok(Some(drawn)) => drawn,
                Ok(None) => break,
                Err(error) => return fail(error),
            };
            let moved = match &pieces {
                Ok(pieces) => pieces.move_range(&range, target.as_fd(), &mut kit),
                Err(error) => Moved::Unread(error.errno),
            };
            if let Err(error) = done(target, moved) {
                fail(error);
            }
        }
    };
    let helpers = if total_bytes < WORTH_BYTES { 0 } else { haul_sys::process::processors() - 1 };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where no more threads are allowed it goes on with those there are.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    if let Ok(pieces) = &pieces {
        pieces.trail.finish(pieces.source);
    }
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
