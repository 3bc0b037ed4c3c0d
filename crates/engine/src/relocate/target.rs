//! What the last operand, or `-t`, stands for: a directory to move into, or the new name.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{CWD, RenameMode, Stat, is_refusal_of_mode, openat, renameat, statat};

use super::monitor::What;
use super::note;
use super::request::{Mode, Request};
use crate::apply::existing::DIRECTORY;
use crate::request::TargetForm;
use crate::walk::path::{directory_of, join, split};

/// Where sources go.
pub(super) enum Target {
    /// Into this directory.
    Into(OwnedFd),
    /// To the name as it was given.
    As,
}

/// What came of a rename, in the kernel's words.
pub(super) type Renamed = Result<(), Errno>;

impl Target {
    /// Finds out what the target is. A single source is renamed at once where nothing is in its way;
    /// what came of that is returned, for it need not be tried again.
    pub(super) fn resolve(request: &Request) -> Result<(Target, Option<Renamed>), (What, Errno)> {
        let open = || open_directory(&request.target);
        match request.form {
            TargetForm::Name => Ok((Target::As, None)),
            TargetForm::Directory => match open() {
                Ok(fd) => Ok((Target::Into(fd), None)),
                Err(errno) => Err((What::TargetDirectory, errno)),
            },
            TargetForm::LastDirectory => match open() {
                Ok(fd) => Ok((Target::Into(fd), None)),
                Err(errno) => Err((What::TargetOperand, errno)),
            },
            TargetForm::Guess => {
                let first = match (request.policy.mode, request.sources.first()) {
                    (Mode::Move, Some(source)) => Some(rename_new(source, CWD, &request.target)),
                    _ => None,
                };
                if first == Some(Ok(())) {
                    return Ok((Target::As, first));
                }
                let Ok(fd) = open() else { return Ok((Target::As, first)) };
                // The same command again, after it was interrupted when all but the removal was done.
                let is_again = first == Some(Err(Errno::XDEV)) && is_moved_already(request);
                Ok(if is_again { (Target::As, first) } else { (Target::Into(fd), None) })
            }
        }
    }

    /// Returns the place that a source is to get.
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

/// Tells whether the target is the complete copy of the one source, by an earlier run's note.
fn is_moved_already(request: &Request) -> bool {
    let target = request.target.to_bytes();
    let name = CString::new(split(target).1).unwrap_or_default();
    let Some(source) = request.sources.first() else { return false };
    open_directory(&directory_of(target))
        .is_ok_and(|parent| note::tells_of(parent.as_fd(), &name, source))
}

/// Opens what is a directory or leads to one.
fn open_directory(path: &CStr) -> Result<OwnedFd, Errno> {
    let fd = openat(CWD, path, DIRECTORY).map_err(|error| error.errno)?;
    let stat = haul_sys::fs::fstat(&fd).map_err(|error| error.errno)?;
    if stat.kind() == haul_sys::fs::Kind::Directory { Ok(fd) } else { Err(Errno::NOTDIR) }
}

/// The place that a source is to get: a name, as the kernel takes it and as people see it.
pub(super) struct Place<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: CString,
    pub(super) shown: Vec<u8>,
}

impl Place<'_> {
    pub(super) fn stat(&self) -> haul_sys::Result<Stat> {
        statat(self.directory, &self.name)
    }

    /// Opens the directory of the name, and returns what the name is in there, and what that
    /// directory is called.
    pub(super) fn parent(&self) -> haul_sys::Result<(OwnedFd, CString, CString)> {
        let path = self.name.to_bytes();
        let fd = openat(self.directory, &directory_of(path), DIRECTORY)?;
        let own = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
        Ok((fd, own(split(path).1), own(split(&self.shown).0)))
    }
}

/// Renames to a name that nobody has: `EEXIST` where somebody does.
pub(super) fn rename_new(source: &CStr, directory: BorrowedFd<'_>, name: &CStr) -> Renamed {
    rename_new_at(CWD, source, directory, name)
}

/// The same, from a directory.
pub(super) fn rename_new_at(
    from: BorrowedFd<'_>,
    source: &CStr,
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> Renamed {
    let plainly = |mode| renameat(from, source, directory, name, mode);
    match plainly(RenameMode::NoReplace) {
        Ok(()) => Ok(()),
        // A file system that cannot promise it: the name is looked at, and taken if it is free.
        Err(error) if is_refusal_of_mode(error.errno) => match statat(directory, name) {
            Ok(_) => Err(Errno::EXIST),
            Err(error) if error.errno != Errno::NOENT => Err(error.errno),
            Err(_) => plainly(RenameMode::Replace).map_err(|error| error.errno),
        },
        Err(error) => Err(error.errno),
    }
}
