//! Gives an existing target its backup name in a way that can be undone: if the move then fails, the
//! target and its previous backup are what they were.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use haul_io::hidden::under_hidden_name;
use haul_io::last_check::{LastNames, Stays};
use haul_sys::fs::{Follow, Kind, RenameMode, Stat, linkat, openat, renameat, statat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use super::target::rename_new_at;
use crate::data::request::Backup;
use crate::names::at::DIRECTORY;
use crate::names::path::{beside, directory_of, split};
use crate::plan::backup;

/// A target that has its backup name.
pub(super) struct Displaced<'a> {
    directory: BorrowedFd<'a>,
    name: &'a CStr,
    backup: CString,
    previous: Previous,
}

/// Entry that had the backup name before.
enum Previous {
    /// None that would be missed.
    None,
    /// Another name of the target. `rename` does nothing then, so the name of the target was removed.
    SameFile,
    /// The previous backup, which has this hidden name until the move succeeds.
    Aside(CString),
}

/// Gives a target its backup name. Returns `None` if there is no target.
pub(super) fn displace<'a>(
    directory: BorrowedFd<'a>,
    name: &'a CStr,
    how: &Backup,
) -> haul_sys::Result<Option<Displaced<'a>>> {
    let displaced = |backup, previous| Ok(Some(Displaced { directory, name, backup, previous }));
    let (backup, mode) = backup::name_for(directory, name, how)?;
    let there = match statat(directory, name) {
        Err(error) if error.errno == Errno::NOENT => return Ok(None),
        there => there?,
    };
    if mode == RenameMode::NoReplace {
        return match backup::make(directory, name, how) {
            Ok(backup) => displaced(backup, Previous::None),
            // Another process has removed the target.
            Err(error) if error.errno == Errno::NOENT => Ok(None),
            Err(error) => Err(error),
        };
    }
    let is_directory = there.kind() == Kind::Directory;
    let previous = match statat(directory, &backup) {
        Ok(previous) if previous.same_file(&there) && !is_directory => {
            unlink_same(directory, name, &there)?;
            return displaced(backup, Previous::SameFile);
        }
        // Only an empty directory can be replaced by a rename, and only by a directory.
        Ok(previous) if !is_directory && previous.kind() != Kind::Directory => {
            Previous::Aside(set_aside(directory, &backup)?)
        }
        _ => Previous::None,
    };
    let error = match renameat(directory, name, directory, &backup, RenameMode::Replace) {
        Ok(()) => return displaced(backup, previous),
        Err(error) => error,
    };
    if let Previous::Aside(aside) = previous {
        // An error that leaves the previous backup under a hidden name is the one to report.
        rename_new_at(directory, &aside, directory, &backup).map_err(refused)?;
    }
    // Another process has removed the target.
    if error.errno == Errno::NOENT { Ok(None) } else { Err(error) }
}

/// Removes a name of a file that has another one. Fails with `ESTALE` if another file has the name by now.
fn unlink_same(directory: BorrowedFd<'_>, name: &CStr, file: &Stat) -> haul_sys::Result<()> {
    let (parent, leaf) = split(name.to_bytes_with_nul());
    let place = CStr::from_bytes_with_nul(leaf).unwrap_or(name);
    let opened = match parent {
        b"" => None,
        _ => Some(openat(directory, &directory_of(name.to_bytes()), DIRECTORY)?),
    };
    let directory = opened.as_ref().map_or(directory, AsFd::as_fd);
    LastNames::default().remove_same((directory, place), file).map_err(|stays| match stays {
        Stays::Changed => refused(Errno::STALE),
        Stays::Beside(other) => other.why,
        Stays::Failed(error) => error,
    })
}

/// Gives a previous backup a hidden name beside it.
fn set_aside(directory: BorrowedFd<'_>, backup: &CStr) -> haul_sys::Result<CString> {
    let aside = |hidden: &CStr| {
        CString::new(beside(backup.to_bytes(), hidden)).map_err(|_| refused(Errno::INVAL))
    };
    let ((), hidden) = under_hidden_name(|hidden| {
        rename_new_at(directory, backup, directory, &aside(hidden)?).map_err(refused)
    })?;
    aside(&hidden)
}

const fn refused(errno: Errno) -> CallError {
    CallError::new(Call::Renameat2, errno)
}

impl Displaced<'_> {
    /// Makes the backup final, and returns its name.
    pub(super) fn complete(self) -> CString {
        if let Previous::Aside(aside) = &self.previous {
            // A failure leaves a hidden file, which `haul clean` removes.
            let _removed = unlinkat(self.directory, aside);
        }
        self.backup
    }

    /// Gives the target its name again, and the previous backup its own, because the move failed.
    /// Fails if another process has taken a name in the meantime.
    pub(super) fn undo(self) -> haul_sys::Result<()> {
        let Displaced { directory, name, backup, previous } = self;
        let rename =
            |from: &CStr, to: &CStr| rename_new_at(directory, from, directory, to).map_err(refused);
        match previous {
            Previous::SameFile => linkat(directory, &backup, directory, name, Follow::No),
            Previous::None => rename(&backup, name),
            Previous::Aside(aside) => {
                rename(&backup, name)?;
                rename(&aside, &backup)
            }
        }
    }
}
