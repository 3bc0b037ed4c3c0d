//! What interrupted moves have left in a directory, for whoever tidies up: which of it the same
//! command would go on with, and which nobody will ever want.
//!
//! Nothing of this is the only copy of anything: while a copy has its waiting name its source is whole,
//! and a note only tells a rerun what it may remove.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;

use haul_sys::fs::{
    Follow, Kind, Stat, open_directory, statat, try_lock, try_lock_shared, unlinkat,
};

use super::Found;
use crate::relocate::{note, stage};
use crate::remove;
use crate::request::{Recursion, Resources};

/// Tells whether a name is one that moves use.
pub(crate) fn is_name(name: &[u8]) -> bool {
    stage::is_name(note::of_copy(name).unwrap_or(name))
}

/// Tells others that a move is at work in a directory, for as long as the descriptor is open. Where
/// that cannot be told, what is there is spared for a minute by its age.
pub(crate) fn announce(directory: impl AsFd) {
    let _announced = try_lock_shared(directory);
}

/// The right to tidy up in a directory: no move is at work there, as far as that can be told.
pub(crate) struct Quiet {
    _lock: OwnedFd,
}

impl Quiet {
    /// Finds out whether a move is at work in a directory.
    pub(crate) fn new(directory: impl AsFd) -> haul_sys::Result<Option<Quiet>> {
        // A description of its own, for the lock is the description's.
        let lock = open_directory(directory, c".", Follow::No)?;
        // Some file systems lock no directories (NFS: EBADF); there the age has to do.
        let is_quiet = try_lock(&lock).unwrap_or(true);
        Ok(is_quiet.then_some(Quiet { _lock: lock }))
    }
}

/// Tells what a name is that moves use, in a directory where none is at work. [`Found::Leftover`] may
/// be removed.
pub(crate) fn judge(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Found {
    let Some(waiting) = note::of_copy(name.to_bytes()) else {
        return if stat.kind() == Kind::Directory { Found::Unfinished } else { Found::Leftover };
    };
    let waiting = CString::new(waiting).unwrap_or_default();
    if statat(directory, &waiting).is_ok() {
        // A copy that has not got its name yet: the two share their fate.
        return Found::Unfinished;
    }
    match note::source_of(directory, name) {
        note::Source::Gone => Found::Leftover,
        note::Source::Left(path) => Found::Unremoved(Some(path)),
        note::Source::Unknown => Found::Unremoved(None),
    }
}

/// Removes a name that moves use, with all that is in it.
pub(crate) fn remove(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> haul_sys::Result<()> {
    if stat.kind() != Kind::Directory {
        return unlinkat(directory, name);
    }
    remove_tree(directory, name)
}

/// Hears of the first thing that cannot be removed.
#[derive(Default)]
struct First(std::sync::OnceLock<haul_sys::Errno>);

impl remove::Monitor for First {
    fn failed(&self, failure: &remove::Failure) {
        let errno = failure.errno.unwrap_or(haul_sys::Errno::BUSY);
        // The others are of the same tree, which stays.
        let _later = self.0.set(errno);
    }
}

fn remove_tree(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<()> {
    use std::os::fd::AsRawFd as _;
    // Operands are paths; this one leads to the open directory, whatever that is called by now.
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    let stop = AtomicBool::new(false);
    let request = remove::Request {
        operands: CString::new(path).into_iter().collect(),
        policy: remove::Policy {
            recursion: Recursion::Yes,
            privileged: haul_sys::process::identity().uid == 0,
            ..remove::Policy::PLAIN
        },
        resources: Resources {
            jobs: 1,
            waiting_jobs: 1,
            descriptors: haul_sys::process::nofile_limit(),
        },
    };
    let first = First::default();
    let control = crate::monitor::Control::new(&stop);
    remove::remove(&request, &first, &control);
    match first.0.get() {
        None => Ok(()),
        Some(errno) => Err(haul_sys::CallError::new(haul_sys::Call::Unlinkat, *errno)),
    }
}
