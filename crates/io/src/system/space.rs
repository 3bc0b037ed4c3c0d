//! Calls that find a file system full, made again after a flush.
//!
//! A file system that allocates blocks when it writes data back reserves the worst case until then.
//! XFS reserves several blocks for each new file whose data waits for writeback, so a thousand small
//! files can take all free blocks of a small file system for a moment. Quotas count reservations as
//! well. The kernel writes data back and repeats the call, but only once, and other threads may take
//! what that freed (`xfs_create`, `xfs_file_buffered_write` in fs/xfs); for some calls it does not flush
//! at all (`xfs_trans_alloc_dir` for link and rename). So one thread hardly ever sees the error, and
//! several do. [`Space`] flushes and repeats the call.
//!
//! Not on a server, nor on a file system that is not known: there an error may be about bytes that an
//! earlier write handed over, and whether a flush then succeeds proves nothing.

use haul_sys::sync::Mutex;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::fs::{Follow, fstatfs, open_directory, syncfs};
use haul_sys::{Errno, Result};

use crate::system::errno::is_lack_of_space;
use crate::system::quirk::of_magic;

/// Number of flushes without effect that are allowed at first. On a full file system every file fails,
/// and a flush for each of them would only keep others waiting.
const FLUSHES: u32 = 3;

/// Number of calls that succeed for which one flush more is allowed: a long run that once met a full
/// directory quota is not without flushes for the rest of its time.
const EARNED_BY: u32 = 64;

/// Number of times that one call is made again.
const REPETITIONS: u32 = 3;

/// What a run knows about flushes of its target file systems that are to make room. Shared by workers.
#[derive(Debug)]
pub struct Space {
    /// Number of flushes that have ended.
    flushes: AtomicU64,
    /// Whether fewer flushes are allowed than at first.
    is_spent: AtomicBool,
    /// Locked during a flush, for which workers wait whose calls failed as well.
    allowance: Mutex<Allowance>,
}

#[derive(Debug)]
struct Allowance {
    flushes: u32,
    /// Calls that have succeeded since the last flush was spent or earned.
    successes: u32,
}

/// A call that is made again as long as it finds no space and a flush may help.
pub(crate) struct Repeated<'s> {
    space: &'s Space,
    /// Flushes that had ended before the call.
    seen: u64,
    /// Repetitions without progress that are left.
    left: u32,
    /// Whether the last repetition follows a flush of its own.
    has_flushed: bool,
}

impl Default for Space {
    fn default() -> Space {
        Space::new()
    }
}

impl Space {
    /// Returns the state before any call has failed.
    #[must_use]
    pub const fn new() -> Space {
        Space {
            flushes: AtomicU64::new(0),
            is_spent: AtomicBool::new(false),
            allowance: Mutex::new(Allowance { flushes: FLUSHES, successes: 0 }),
        }
    }

    /// Makes a call that takes space on the file system of `on`, which is the file that it writes to or
    /// the directory that it makes an entry in. If there is no space, flushes the file system, and makes
    /// the call again, at most three times; not once `is_stopped` returns true. Blocks for as long as
    /// the flushes take. Returns the answer of the last call.
    pub fn retry<T>(
        &self,
        on: impl AsFd,
        is_stopped: impl Fn() -> bool,
        call: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        self.retry_where(|| Ok(on.as_fd()), is_stopped, call)
    }

    /// Makes a call as [`retry`](Space::retry) does. The file or directory is opened by `on`, and only if there
    /// is no space; if that fails, the call is not made again.
    pub fn retry_where<T, F: AsFd>(
        &self,
        on: impl Fn() -> Result<F>,
        is_stopped: impl Fn() -> bool,
        mut call: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let mut repeated = self.begin();
        loop {
            match call() {
                Err(error)
                    if is_lack_of_space(error.errno)
                        && on().is_ok_and(|on| repeated.flush(on, &is_stopped)) => {}
                answer => {
                    if answer.is_ok() {
                        repeated.succeeded();
                    }
                    return answer;
                }
            }
        }
    }

    /// Begins a call.
    pub(crate) fn begin(&self) -> Repeated<'_> {
        let seen = self.flushes.load(Ordering::Acquire);
        Repeated { space: self, seen, left: REPETITIONS, has_flushed: false }
    }

    /// Records a call that has succeeded, while that can earn a flush; not during one.
    fn earn(&self) {
        let Some(mut allowance) = self.allowance.try_lock() else { return };
        allowance.successes += 1;
        if allowance.successes >= EARNED_BY {
            self.allow_one_more(&mut allowance);
        }
    }

    fn allow_one_more(&self, allowance: &mut Allowance) {
        allowance.flushes = (allowance.flushes + 1).min(FLUSHES);
        allowance.successes = 0;
        self.is_spent.store(allowance.flushes < FLUSHES, Ordering::Relaxed);
    }
}

impl Repeated<'_> {
    /// Flushes the file system of `on`, unless another worker has done so since the call began. Returns
    /// whether to make the call again.
    ///
    /// If the flush fails, the caller's own error is the one to report. Code that has to know that data
    /// arrived has a descriptor of its own, which gets the error of the flush as well.
    pub(crate) fn flush(&mut self, on: impl AsFd, is_stopped: impl Fn() -> bool) -> bool {
        if self.left == 0 || is_served(&on) {
            return false;
        }
        self.left -= 1;
        let space = self.space;
        let mut allowance = space.allowance.lock();
        if is_stopped() {
            return false;
        }
        let ended = space.flushes.load(Ordering::Acquire);
        if ended > self.seen {
            self.seen = ended;
            self.has_flushed = false;
            return true;
        }
        if allowance.flushes == 0 {
            return false;
        }
        allowance.flushes -= 1;
        allowance.successes = 0;
        space.is_spent.store(true, Ordering::Relaxed);
        if write_back(&on).is_err() {
            return false;
        }
        self.seen = space.flushes.fetch_add(1, Ordering::AcqRel) + 1;
        self.has_flushed = true;
        true
    }

    /// Records that the call has moved bytes, but not all.
    pub(crate) fn went_on(&mut self) {
        self.left = REPETITIONS;
        self.succeeded();
    }

    /// Records that the call has succeeded. A flush that helped is not counted.
    pub(crate) fn succeeded(&mut self) {
        if std::mem::take(&mut self.has_flushed) {
            self.space.allow_one_more(&mut self.space.allowance.lock());
        } else if self.space.is_spent.load(Ordering::Relaxed) {
            self.space.earn();
        }
    }
}

/// Returns whether a server has the file system. One that does not answer counts as such.
fn is_served(on: impl AsFd) -> bool {
    fstatfs(on).map_or(true, |system| of_magic(system.magic).is_remote())
}

/// Writes back a file system. A directory may be open as a handle (`O_PATH`), which syncfs(2) rejects.
fn write_back(on: impl AsFd) -> Result<()> {
    match syncfs(&on) {
        Err(error) if error.errno == Errno::BADF => syncfs(open_directory(on, c".", Follow::No)?),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    use haul_sys::fs::{CWD, OpenHow, openat};
    use haul_sys::{Call, CallError};

    use super::*;

    fn lacking(errno: Errno) -> CallError {
        CallError::new(Call::Openat, errno)
    }

    /// Returns a call that finds no space the first time.
    fn fails_once() -> impl FnMut() -> Result<()> {
        let mut has_failed = false;
        move || {
            if std::mem::replace(&mut has_failed, true) {
                Ok(())
            } else {
                Err(lacking(Errno::NOSPC))
            }
        }
    }

    /// Makes a call that fails this many times. Returns how often it was made, and whether it succeeded.
    fn calls_until(space: &Space, errno: Errno, failures: u32) -> (u32, bool) {
        let directory = File::open(".").unwrap();
        let mut calls = 0;
        let answer = space.retry(
            &directory,
            || false,
            || {
                calls += 1;
                if calls > failures { Ok(()) } else { Err(lacking(errno)) }
            },
        );
        (calls, answer.is_ok())
    }

    #[test]
    fn a_call_is_made_again_where_space_is_lacking_and_only_there() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert_eq!(calls_until(&Space::new(), errno, 2), (3, true), "{errno:?}");
            assert_eq!(calls_until(&Space::new(), errno, u32::MAX), (4, false), "{errno:?}");
        }
        for errno in [Errno::IO, Errno::FBIG, Errno::ROFS, Errno::MFILE] {
            assert_eq!(calls_until(&Space::new(), errno, 1), (1, false), "{errno:?}");
        }
    }

    #[test]
    fn flushes_of_a_full_file_system_are_earned() {
        let space = Space::new();
        assert_eq!(calls_until(&space, Errno::NOSPC, 3), (4, true));
        // Two of the three flushes before had no effect.
        assert_eq!(calls_until(&space, Errno::NOSPC, u32::MAX), (2, false));
        assert_eq!(calls_until(&space, Errno::NOSPC, u32::MAX), (1, false));
        for _ in 0..EARNED_BY {
            assert_eq!(calls_until(&space, Errno::NOSPC, 0), (1, true));
        }
        assert_eq!(calls_until(&space, Errno::NOSPC, u32::MAX), (2, false));
        for _ in 0..FLUSHES * EARNED_BY {
            assert_eq!(calls_until(&space, Errno::NOSPC, 0), (1, true));
        }
        assert!(!space.is_spent.load(Ordering::Relaxed));
        assert_eq!(calls_until(&space, Errno::NOSPC, u32::MAX), (4, false));
    }

    #[test]
    fn a_worker_waits_for_the_flush_of_another() {
        const WORKERS: usize = 8;
        let (space, directory) = (Space::new(), File::open(".").unwrap());
        let (barrier, calls) = (Barrier::new(WORKERS), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    let mut is_first = true;
                    let answer = space.retry(
                        &directory,
                        || false,
                        || {
                            calls.fetch_add(1, Ordering::Relaxed);
                            if std::mem::take(&mut is_first) {
                                barrier.wait();
                                return Err(lacking(Errno::NOSPC));
                            }
                            Ok(())
                        },
                    );
                    assert_eq!(answer, Ok(()));
                });
            }
        });
        assert_eq!(calls.into_inner(), 2 * WORKERS as u32);
        assert_eq!(space.flushes.into_inner(), 1, "one flush is for all");
    }

    #[test]
    fn a_stop_ends_the_repetition() {
        let directory = File::open(".").unwrap();
        let mut calls = 0;
        let answer = Space::new().retry(
            &directory,
            || true,
            || {
                calls += 1;
                Err::<(), _>(lacking(Errno::NOSPC))
            },
        );
        assert_eq!((answer, calls), (Err(lacking(Errno::NOSPC)), 1));
    }

    #[test]
    fn nothing_is_made_again_on_a_server_or_an_unknown_file_system() {
        let (space, here) = (Space::new(), File::open(".").unwrap());
        let (there, _writer) = std::io::pipe().unwrap();
        let mut calls = 0;
        let answer = space.retry(
            &there,
            || false,
            || {
                calls += 1;
                // Another worker's flush is none of this file system.
                assert_eq!(space.retry(&here, || false, fails_once()), Ok(()));
                Err::<(), _>(lacking(Errno::NOSPC))
            },
        );
        assert_eq!((answer, calls), (Err(lacking(Errno::NOSPC)), 1));
        assert_eq!(space.flushes.into_inner(), 1);
    }

    #[test]
    fn what_is_opened_for_the_flush_is_what_counts() {
        let retry = |path: &std::path::Path| {
            let open = || File::open(path).map_err(|_| CallError::new(Call::Openat, Errno::NOENT));
            Space::new().retry_where(open, || false, fails_once())
        };
        assert_eq!(retry(".".as_ref()), Ok(()));
        assert_eq!(retry("not/there".as_ref()), Err(lacking(Errno::NOSPC)));
    }

    #[test]
    fn a_handle_of_a_directory_is_flushed_too() {
        let handle = openat(CWD, c".", OpenHow::HANDLE).unwrap();
        assert_eq!(write_back(handle), Ok(()));
    }
}
