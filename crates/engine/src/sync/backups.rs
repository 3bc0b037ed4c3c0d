//! Backups: an entry that is replaced or removed gets another name, beside it or in another directory.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_sys::fs::{Follow, RenameMode, fstat, linkat, open_directory, renameat, statat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use crate::data::request::{Backup, BackupKind, Backups};
use crate::names::at::At;
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{directory_of, split};
use crate::plan::backup;
use crate::plan::swap::swap_in;
use crate::remove::aside::{Aside, PutAside};
use crate::sync::given::{Missing, TargetRoot};

/// The backups of a run.
pub(crate) struct OpenBackups {
    root: TargetRoot,
    /// The directory that gets them, if it is open.
    directory: Option<OwnedFd>,
    /// Whether they are beside the entries.
    are_beside: bool,
    /// The directories of the target that lead to it.
    pub(crate) places: HashSet<Identity>,
    beside: Backup,
}

/// What happens to the name of which a backup is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is replaced by a rename, so it stays until then.
    Replaced,
    /// It goes.
    Gone,
}

impl OpenBackups {
    /// Opens the directory of the backups, which is made if it is missing and the run writes.
    pub(crate) fn open(
        how: &Backups,
        root: TargetRoot,
        missing: Missing,
    ) -> haul_sys::Result<OpenBackups> {
        let directory = match &how.directory {
            // A rehearsal makes nothing, and puts nothing there.
            Some(path) if missing == Missing::Fail => root.open(path, missing).ok(),
            Some(path) => Some(root.open(path, missing)?),
            None => None,
        };
        // Each backup would have the name of what it is a backup of.
        if how.suffix.is_empty() && directory.as_ref().is_some_and(|open| root.is(open)) {
            return Err(CallError::new(Call::Openat, Errno::INVAL));
        }
        let places = directory.as_ref().map(|open| root.ways_to(open)).unwrap_or_default();
        let are_beside = how.directory.is_none();
        let beside = Backup { kind: BackupKind::Simple, suffix: how.suffix.clone() };
        Ok(OpenBackups { root, directory, are_beside, places, beside })
    }

    /// Makes the backup of an entry that messages show under this path. Fails if it would replace what the run has made.
    pub(crate) fn keep(
        &self,
        entry: At<'_>,
        shown: &[u8],
        then: Then,
        is_made: impl Fn(Identity) -> bool,
    ) -> haul_sys::Result<()> {
        let At { directory, name } = entry;
        let Some(root) = &self.directory else {
            let is_taken = backup::simple_name(name, &self.beside)
                .and_then(|backup| statat(directory, &backup).ok())
                .is_some_and(|stat| is_made(identity(&stat)));
            if is_taken {
                return Err(CallError::new(Call::Renameat2, Errno::EXIST));
            }
            let make = || backup::make(directory, name, &self.beside);
            return match then {
                Then::Replaced => {
                    let linked = backup::link(directory, name, &self.beside).map(drop);
                    or_else_rename(linked, || make().map(drop))
                }
                Then::Gone => {
                    let to = make()?;
                    remove_twin(entry, At { directory, name: &to })
                }
            };
        };
        let path = self.root.below(shown);
        let (parent, last) = split(path);
        let to = [last, &self.beside.suffix].concat();
        let to = CString::new(to).map_err(|_| CallError::new(Call::Renameat2, Errno::INVAL))?;
        let place = self.root.make_twin(root, parent)?;
        let place = place.as_fd();
        // The name of an operand may be a path.
        let own = open_directory(directory, &directory_of(name.to_bytes()), Follow::Yes)?;
        let from = CString::new(split(name.to_bytes()).1).unwrap_or_default();
        if from == to && identity(&fstat(&own)?) == identity(&fstat(place)?) {
            return Err(CallError::new(Call::Renameat2, Errno::EXIST));
        }
        let rename = || renameat(own.as_fd(), &from, place, &to, RenameMode::Replace);
        match then {
            Then::Gone => {
                rename()?;
                let from = At { directory: own.as_fd(), name: &from };
                remove_twin(from, At { directory: place, name: &to })
            }
            Then::Replaced => {
                let link = |hidden: &CStr| linkat(own.as_fd(), &from, place, hidden, Follow::No);
                or_else_rename(swap_in(place, &to, link), rename)
            }
        }
    }
}

/// Removes a name that was renamed to another name of the same file, for then rename(2) does nothing.
fn remove_twin(from: At<'_>, to: At<'_>) -> haul_sys::Result<()> {
    match [from, to].map(|at| statat(at.directory, at.name)) {
        [Ok(one), Ok(other)] if one.same_file(&other) => unlinkat(from.directory, from.name),
        _ => Ok(()),
    }
}

/// Renames where the file system has no hard links, or allows none to this file. `EMLINK`: it has the maximum number.
fn or_else_rename(
    made: haul_sys::Result<()>,
    rename: impl FnOnce() -> haul_sys::Result<()>,
) -> haul_sys::Result<()> {
    match made {
        Err(error) if matches!(error.errno, Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK) => {
            rename()
        }
        answer => answer,
    }
}

impl Aside for OpenBackups {
    fn of(&self, name: &CStr) -> PutAside {
        let is_backup = name.to_bytes().ends_with(&self.beside.suffix);
        match (self.are_beside, is_backup) {
            (false, _) => PutAside::Elsewhere,
            // A backup has no backup.
            (true, true) => PutAside::Nowhere,
            (true, false) => PutAside::Beside,
        }
    }

    fn put(&self, directory: BorrowedFd<'_>, name: &CStr, shown: &[u8]) -> haul_sys::Result<()> {
        self.keep(At { directory, name }, shown, Then::Gone, |_| false)
    }
}
