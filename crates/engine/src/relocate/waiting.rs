//! Prepares the waiting names of a batch: each becomes one that no other user has taken, and that of a
//! directory is claimed, with what an interrupted run has left under it.
//!
//! The waiting name follows from the source, so that the same command finds the copy of an interrupted
//! run. The owner of the source can compute it, too. So in a directory where other users can make
//! entries, what has the name is used only if this process can have made it; otherwise the copy gets a
//! random name, and the entry stays.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use haul_sys::fs::{CWD, Follow, Kind, Stat, fstat, open_directory, statat};
use haul_sys::{Call, CallError, Errno, Result};

use super::batch::{Batch, Destination, Moving};
use super::claim::{Claimed, StaleCopy, claim};
use super::{adopt, mark, note, stage};
use crate::copy::copied_entries::CopiedEntries;
use crate::data::error::What;
use crate::data::monitor::{Detail, Event, Outcome, Report};
use crate::metadata::owners::Exchangeable;
use crate::names::at::At;
use crate::names::path::join;

/// Claims the waiting name of a directory. Where other users can rename entries, a directory that does not prove to be
/// the copy of an interrupted run stays as it is, and the copy gets a random name.
fn claim_own(destination: &Destination, moving: &mut Moving) -> Result<Claimed> {
    let directory = destination.directory.as_fd();
    match claim(directory, &moving.stage)? {
        Claimed::Found(found)
            if destination.exchangeable == Exchangeable::Yes
                && !mark::is_on(&found, moving.inode())? =>
        {
            moving.stage = stage::random(&moving.stat)?;
            claim(directory, &moving.stage)
        }
        claimed => Ok(claimed),
    }
}

/// Returns a path to a claimed directory. Where other users can rename entries, its name may be another
/// directory's, or a link's, by now, so the path leads by its descriptor; without /proc that fails.
fn path_of_claimed(
    destination: &Destination,
    moving: &Moving,
    claimed: &OwnedFd,
) -> Result<Vec<u8>> {
    if destination.exchangeable == Exchangeable::No {
        return Ok(destination.waiting_path(moving));
    }
    let path = format!("/proc/self/fd/{}", claimed.as_raw_fd());
    let opened =
        open_directory(CWD, &CString::new(path.as_str()).unwrap_or_default(), Follow::Yes)?;
    if fstat(&opened)?.same_file(&fstat(claimed)?) {
        return Ok(path.into_bytes());
    }
    Err(CallError::new(Call::Openat, Errno::STALE))
}

impl Batch<'_> {
    /// Claims a directory's waiting name and examines the copy that an interrupted run has left
    /// there. The copy itself removes a stale file.
    pub(super) fn find_stale(
        &self,
        destination: &Destination,
        moving: &mut Moving,
        copied: &CopiedEntries,
    ) -> StaleCopy {
        if let Err(error) = self.avoid_others(destination, moving) {
            self.fail(moving, What::Move, Some(error.errno));
            return StaleCopy::InTheWay;
        }
        if !moving.is_directory() {
            return StaleCopy::None;
        }
        match claim_own(destination, moving) {
            Ok(Claimed::New(lock)) => self.take(destination, moving, lock),
            Ok(Claimed::Found(lock)) => {
                let stale = self.adopt(destination, moving, &lock, copied);
                moving.claim = Some(lock);
                stale
            }
            Ok(Claimed::InUse) => {
                self.fail(moving, What::InUse, None);
                StaleCopy::InTheWay
            }
            Err(error) if statat(&destination.directory, &moving.stage).is_ok() => {
                self.in_the_way(destination, moving, error.errno)
            }
            // The call that creates the directory again reports the reason.
            Err(_) => StaleCopy::None,
        }
    }

    /// Takes the directory that was made under a waiting name, if it is still the one.
    fn take(&self, destination: &Destination, moving: &mut Moving, made: OwnedFd) -> StaleCopy {
        let is_made = fstat(&made).and_then(|stat| {
            self.owners.is_just_made(made.as_fd(), &stat, destination.exchangeable)
        });
        if let Ok(true) = is_made {
            if destination.exchangeable == Exchangeable::Yes {
                mark::set(&made, moving.inode());
            }
            moving.claim = Some(made);
            self.tell_directory(destination, moving, Outcome::Begun);
            return StaleCopy::None;
        }
        let errno = is_made.err().map_or(Errno::STALE, |error| error.errno);
        self.fail(moving, What::Move, Some(errno));
        StaleCopy::InTheWay
    }

    /// Gives an operand a random waiting name if another user's entry has the one that follows from the
    /// source, or the name of its note.
    fn avoid_others(&self, destination: &Destination, moving: &mut Moving) -> Result<()> {
        if destination.exchangeable == Exchangeable::No {
            return Ok(());
        }
        let is_ours = match statat(&destination.directory, &moving.stage) {
            Ok(there) => self.may_be_ours(destination, moving, &there)?,
            Err(error) if error.errno == Errno::NOENT => true,
            Err(error) => return Err(error),
        };
        let directory = destination.directory.as_fd();
        let noted = match moving.is_directory() {
            true => note::described(directory, &moving.stage)?,
            false => None,
        };
        let may_be_noted = match noted {
            Some(there) => self.owners.is_own(&there, directory)?,
            None => true,
        };
        if !(is_ours && may_be_noted) {
            moving.stage = stage::random(&moving.stat)?;
        }
        Ok(())
    }

    /// Returns whether an entry with the waiting name of an operand can be its copy by this user.
    fn may_be_ours(
        &self,
        destination: &Destination,
        moving: &Moving,
        there: &Stat,
    ) -> Result<bool> {
        let is_of_kind = (there.kind() == Kind::Directory) == moving.is_directory();
        // Where only this user can make entries, a run that was killed has given the copy its owner.
        let is_given = destination.exchangeable == Exchangeable::No && there.uid == moving.stat.uid;
        Ok(is_of_kind
            && !there.same_file(&moving.stat)
            && (is_given || self.owners.is_own(there, destination.directory.as_fd())?))
    }

    /// Examines the claimed copy that an interrupted run has left.
    fn adopt(
        &self,
        destination: &Destination,
        moving: &Moving,
        claimed: &OwnedFd,
        copied: &CopiedEntries,
    ) -> StaleCopy {
        let run = self.run;
        let is_ours =
            fstat(claimed).and_then(|there| self.may_be_ours(destination, moving, &there));
        match is_ours {
            Ok(true) => {}
            // Another user has put it there since.
            Ok(false) => {
                self.fail(moving, What::Move, Some(Errno::STALE));
                return StaleCopy::InTheWay;
            }
            Err(error) => return self.in_the_way(destination, moving, error.errno),
        }
        // The claimed directory itself, whatever has its name now.
        let copy = At { directory: claimed.as_fd(), name: c"." };
        // Bytes that are not on stable storage may be lost after they were compared.
        if let Err(error) = destination.anchor.copies() {
            return self.in_the_way(destination, moving, error.errno);
        }
        let (source, trust) = (&moving.source, destination.anchor.trust);
        match adopt::adopt(source, copy, (&run.request.policy, trust), copied, run.control.stop) {
            Ok(doomed) => {
                let base = match path_of_claimed(destination, moving, claimed) {
                    Ok(base) => base,
                    Err(error) => return self.in_the_way(destination, moving, error.errno),
                };
                let paths = doomed.iter().map(|path| join(&[&base, path])).collect();
                if self.remove_paths(paths, None) {
                    StaleCopy::Adopted
                } else {
                    StaleCopy::InTheWay
                }
            }
            Err(error) => self.in_the_way(destination, moving, error.errno),
        }
    }

    fn in_the_way(&self, destination: &Destination, moving: &Moving, errno: Errno) -> StaleCopy {
        let waiting = destination.waiting_path(moving);
        self.run.fail(What::UnfinishedCopy, (moving.source.to_bytes(), &waiting), Some(errno));
        StaleCopy::InTheWay
    }

    /// Reports an operand's directory, as the copy reports the directories below it.
    pub(super) fn tell_directory(
        &self,
        destination: &Destination,
        moving: &Moving,
        outcome: Outcome,
    ) {
        if self.run.monitor.wants(Detail::Entries) {
            let event = Event {
                outcome,
                kind: Kind::Directory,
                source: moving.source.to_bytes().to_vec(),
                target: moving.shown.clone(),
                backup: self.backup_of(destination, moving),
                changes: None,
                linked_to: None,
            };
            self.run.monitor.report(Report::Entry(&event));
        }
    }
}
