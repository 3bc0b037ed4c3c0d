//! Interprets the last operand, or `-t`: as a directory to move into, or as the new name.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::fs::{CWD, RenameMode, Stat, openat, renameat, statat};
use haul_sys::{Errno, is_refused};

use super::note;
use super::request::{Mode, Request};
use super::run::Way;
use crate::data::error::What;
use crate::data::request::TargetForm;
use crate::names::at::DIRECTORY;
use crate::names::path::{directory_of, join, split};

/// Interpretation of the target.
pub(super) enum Target {
    /// Sources move into this directory.
    Into(OwnedFd),
    /// The source gets the name as it was given.
    As,
}

/// Result of a rename, with its errno.
pub(super) type Renamed = Result<(), Errno>;

impl Target {
    /// Finds out what the target is. If nothing is in the way of a single source, renames it at
    /// once and returns the result, so that the caller does not repeat the call.
    pub(super) fn resolve(request: &Request) -> Result<(Target, Option<Renamed>), (What, Errno)> {
        let open = || open_directory(&request.target);
        match request.form {
            TargetForm::Name => Ok((Target::As, None)),
            TargetForm::Directory | TargetForm::Contents => match open() {
                Ok(fd) => Ok((Target::Into(fd), None)),
                Err(errno) => Err((What::TargetDirectory, errno)),
            },
            TargetForm::LastDirectory => match open() {
                Ok(fd) => Ok((Target::Into(fd), None)),
                Err(errno) => Err((What::TargetOperand, errno)),
            },
            TargetForm::Guess => {
                let first = match (request.policy.mode, request.sources.first()) {
                    (Mode::Move, Some(source)) => match request.way(source) {
                        Way::Rename => Some(rename_new(source, CWD, &request.target)),
                        Way::Copy => Some(Err(Errno::XDEV)),
                        Way::Stay => None,
                    },
                    _ => None,
                };
                if first == Some(Ok(())) {
                    return Ok((Target::As, first));
                }
                let Ok(fd) = open() else { return Ok((Target::As, first)) };
                // A rerun of a command that was interrupted when only the removal remained.
                let is_again = first == Some(Err(Errno::XDEV)) && is_moved_already(request);
                Ok(if is_again { (Target::As, first) } else { (Target::Into(fd), None) })
            }
        }
    }

    /// Returns the place that a source moves to.
    pub(super) fn place<'a>(&'a self, source: &CStr, request: &Request) -> Place<'a> {
        match self {
            Target::As => Place {
                directory: CWD,
                name: request.target.clone(),
                shown: request.target.to_bytes().to_vec(),
            },
            Target::Into(fd) => {
                let (_, base) = split(source.to_bytes());
                let shown = join(&[request.target.to_bytes(), base]);
                let base = if base.is_empty() { b".".as_slice() } else { base };
                let name = CString::new(base).unwrap_or_default();
                Place { directory: fd.as_fd(), name, shown }
            }
        }
    }
}

/// Returns whether an earlier run's note identifies the target as the complete copy of the only
/// source.
fn is_moved_already(request: &Request) -> bool {
    let target = request.target.to_bytes();
    let name = CString::new(split(target).1).unwrap_or_default();
    let Some(source) = request.sources.first() else { return false };
    open_directory(&directory_of(target)).is_ok_and(|parent| {
        note::tells_of(parent.as_fd(), &name, source, request.selection_number())
    })
}

/// Opens a directory or a symbolic link to one.
fn open_directory(path: &CStr) -> Result<OwnedFd, Errno> {
    let fd = openat(CWD, path, DIRECTORY).map_err(|error| error.errno)?;
    let stat = haul_sys::fs::fstat(&fd).map_err(|error| error.errno)?;
    if stat.kind() == haul_sys::fs::Kind::Directory { Ok(fd) } else { Err(Errno::NOTDIR) }
}

/// Place that a source moves to: a name, both for the kernel and for messages.
pub(super) struct Place<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: CString,
    pub(super) shown: Vec<u8>,
}

impl Place<'_> {
    pub(super) fn stat(&self) -> haul_sys::Result<Stat> {
        statat(self.directory, &self.name)
    }

    /// Opens the directory of the place. Returns it with the name in that directory and the path
    /// of that directory.
    pub(super) fn parent(&self) -> haul_sys::Result<(OwnedFd, CString, CString)> {
        let path = self.name.to_bytes();
        let fd = openat(self.directory, &directory_of(path), DIRECTORY)?;
        let own = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
        Ok((fd, own(split(path).1), own(split(&self.shown).0)))
    }
}

/// Renames to a free name. Fails with `EEXIST` if the name exists.
pub(super) fn rename_new(source: &CStr, directory: BorrowedFd<'_>, name: &CStr) -> Renamed {
    rename_new_at(CWD, source, directory, name)
}

/// Renames to a free name like [`rename_new`], with a directory for the source.
pub(super) fn rename_new_at(
    from: BorrowedFd<'_>,
    source: &CStr,
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> Renamed {
    let plainly = |mode| renameat(from, source, directory, name, mode);
    match plainly(RenameMode::NoReplace) {
        Ok(()) => Ok(()),
        // The file system does not support RENAME_NOREPLACE: the name is examined, and used if it
        // is free.
        Err(error) if is_refused(error.call, error.errno) => match statat(directory, name) {
            Ok(_) => Err(Errno::EXIST),
            Err(error) if error.errno != Errno::NOENT => Err(error.errno),
            Err(_) => plainly(RenameMode::Replace).map_err(|error| error.errno),
        },
        Err(error) => Err(error.errno),
    }
}
