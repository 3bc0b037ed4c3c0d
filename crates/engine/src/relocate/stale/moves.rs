//! Data that interrupted moves have left in a directory. Decides for `haul clean` which of it a
//! rerun of the same command would reuse, and which is stale.
//!
//! None of it is the only copy of any data: while a copy has its waiting name, its source is
//! complete, and a note only tells a rerun what it may remove.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use haul_io::quirk::{self, Rename};
use haul_sys::fs::{
    Follow, Kind, RenameMode, Stat, open_directory, renameat, statat, try_lock, try_lock_shared,
    unlinkat,
};
use haul_sys::{Call, CallError, Errno};

use super::Found;
use crate::data::monitor::{Control, Report};
use crate::data::request::{Borders, Recursion, Resources};
use crate::names::by_identity::{Identity, identity};
use crate::relocate::{note, stage};
use crate::remove;

/// Returns whether a name is one that moves use.
pub(crate) fn is_name(name: &[u8]) -> bool {
    stage::is_name(note::of_copy(name).unwrap_or(name))
}

/// Locks a directory to announce that a move is active in it, for as long as the descriptor is
/// open. If the lock fails, the minimum age of a minute protects the entries.
pub(crate) fn announce(directory: impl AsFd) {
    let _announced = try_lock_shared(directory);
}

/// Permission to remove stale entries of moves in a directory: as far as can be determined, no
/// move is active there.
pub(crate) struct Quiet {
    _lock: OwnedFd,
}

impl Quiet {
    /// Checks whether a move is active in a directory.
    pub(crate) fn new(directory: impl AsFd) -> haul_sys::Result<Option<Quiet>> {
        // A lock belongs to an open file description, so this one has its own.
        let lock = open_directory(directory, c".", Follow::No)?;
        // Some file systems cannot lock directories (NFS: EBADF); there the age decides.
        let is_quiet = try_lock(&lock).unwrap_or(true);
        Ok(is_quiet.then_some(Quiet { _lock: lock }))
    }
}

/// Classifies a name that moves use, in a directory where no move is active. A [`Found::Stale`]
/// may be removed.
pub(crate) fn judge(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Found {
    let Some(waiting) = note::of_copy(name.to_bytes()) else {
        let is_resumed = stat.kind() == Kind::Directory && !stage::is_random(name.to_bytes());
        return if is_resumed { Found::Unfinished } else { Found::Stale };
    };
    let waiting = CString::new(waiting).unwrap_or_default();
    if statat(directory, &waiting).is_ok() {
        // The note belongs to a copy that has its waiting name: both stay.
        return Found::Unfinished;
    }
    match note::source_of(directory, name) {
        note::Source::Gone => Found::Stale,
        note::Source::Left(path) => Found::Unremoved(Some(path)),
        note::Source::Unknown => Found::Unremoved(None),
    }
}

/// Removes a name that moves use, with everything below it. A directory gets another name first: a move that
/// is active nevertheless, unseen because it or the file system has no lock, then fails to publish the copy,
/// and keeps its source.
pub(crate) fn remove(directory: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> haul_sys::Result<()> {
    if stat.kind() != Kind::Directory {
        return unlinkat(directory, name);
    }
    let abandoned = stage::random(stat)?;
    renameat(directory, name, directory, &abandoned, RenameMode::NoReplace)?;
    let now = statat(directory, &abandoned)?;
    if quirk::of(directory).rename == Rename::Plain && !now.same_file(stat) {
        // Another process has exchanged the directory since it was judged.
        renameat(directory, &abandoned, directory, name, RenameMode::NoReplace)?;
        return Err(CallError::new(Call::Renameat2, Errno::STALE));
    }
    remove_tree(directory, &abandoned, identity(&now))
}

/// Removes a directory with all that is below it, if the name leads to this one.
fn remove_tree(directory: BorrowedFd<'_>, name: &CStr, id: Identity) -> haul_sys::Result<()> {
    use std::os::fd::AsRawFd as _;
    // Operands are paths; this one leads to the open directory, whatever its present name.
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    let stop = AtomicBool::new(false);
    let request = remove::Request {
        operands: CString::new(path).into_iter().collect(),
        policy: remove::Policy {
            recursion: Recursion::Yes,
            borders: Borders::Stay,
            privileged: haul_sys::process::identity().uid == 0,
            ..remove::Policy::PLAIN
        },
        resources: Resources {
            jobs: 1,
            waiting_jobs: 1,
            descriptors: haul_sys::process::nofile_limit(),
        },
        selection: None,
        only: Some(HashSet::from([id])),
    };
    let first = OnceLock::new();
    let note = |report: Report<'_>| {
        if let Report::Failed(failure) = report {
            // Later failures concern the same tree, which stays.
            let _later = first.set(failure.errno.unwrap_or(Errno::BUSY));
        }
    };
    remove::remove(&request, &note, &Control::new(&stop));
    match first.get() {
        None => Ok(()),
        Some(errno) => Err(haul_sys::CallError::new(haul_sys::Call::Unlinkat, *errno)),
    }
}
