//! Opens a file of a journal, if it certainly is one that only this user writes to.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_io::fully::write_fully;
use haul_io::space::Space;
use haul_sys::fs::{Access, Create, Kind, OpenHow, fstat, openat, statat, try_lock, unlinkat};
use haul_sys::{CallError, Errno};

use super::beginning::{MODE, OTHERS_WRITE};
use crate::data::error::JournalFlaw;

/// Number of attempts to open a name that other processes keep removing.
const ATTEMPTS: u32 = 4;

/// Reason for which a journal cannot be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    Call(CallError),
    Flaw(JournalFlaw),
    /// Another process removed the journal during the open.
    Gone,
    /// The error concerns the volume with this name, beside the journal.
    Volume(Box<OpenError>, CString),
}

impl From<CallError> for OpenError {
    fn from(error: CallError) -> OpenError {
        OpenError::Call(error)
    }
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To read it while another process may write to it.
    Reading,
    /// To read and write it; the file is locked.
    Writing,
}

/// Creates a file, which the caller locks. If the file exists, another process is creating it at the same
/// time, so it is [in use](JournalFlaw::InUse).
pub(super) fn create_own(directory: impl AsFd, name: &CStr) -> Result<OwnedFd, OpenError> {
    let how = OpenHow { access: Access::ReadWrite, create: Create::New(MODE), ..OpenHow::WRITE };
    let made = Space::new().retry(&directory, || false, || openat(&directory, name, how));
    made.map_err(|error| match error.errno {
        Errno::EXIST => OpenError::Flaw(JournalFlaw::InUse),
        _ => error.into(),
    })
}

/// Writes bytes at an offset, again after a flush if there is no space.
pub(super) fn write_own(fd: impl AsFd, bytes: &[u8], offset: u64) -> haul_sys::Result<()> {
    Space::new().retry(&fd, || false, || write_fully(&fd, bytes, offset))
}

/// Opens a file, if it exists.
pub(super) fn open_own(
    directory: BorrowedFd<'_>,
    name: &CStr,
    purpose: Purpose,
) -> Result<Option<OwnedFd>, OpenError> {
    for _ in 0..ATTEMPTS {
        match attempt(directory, name, purpose) {
            Err(OpenError::Gone) => {}
            answer => return answer,
        }
    }
    Err(OpenError::Gone)
}

fn attempt(
    directory: BorrowedFd<'_>,
    name: &CStr,
    purpose: Purpose,
) -> Result<Option<OwnedFd>, OpenError> {
    let seen = match statat(directory, name) {
        Ok(seen) => seen,
        Err(error) if error.errno == Errno::NOENT => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if seen.kind() != Kind::Regular {
        return Err(OpenError::Flaw(JournalFlaw::NotAFile));
    }
    if seen.uid != haul_sys::process::identity().uid || seen.nlink != 1 {
        return Err(OpenError::Flaw(JournalFlaw::NotOurs));
    }
    if seen.mode & OTHERS_WRITE != 0 {
        return Err(OpenError::Flaw(JournalFlaw::OthersMayWrite));
    }
    let how = match purpose {
        Purpose::Reading => OpenHow::READ,
        Purpose::Writing => OpenHow { access: Access::ReadWrite, ..OpenHow::WRITE },
    };
    let fd = match openat(directory, name, how) {
        Ok(fd) => fd,
        Err(error) if error.errno == Errno::NOENT => return Err(OpenError::Gone),
        Err(error) => return Err(error.into()),
    };
    // Another process may have put another file there, which is not to be locked.
    if !fstat(&fd)?.same_file(&seen) {
        return Err(OpenError::Gone);
    }
    let is_locked = match purpose {
        Purpose::Reading => true,
        Purpose::Writing => try_lock(&fd)?,
    };
    if !is_locked {
        return Err(OpenError::Flaw(JournalFlaw::InUse));
    }
    // The previous holder of the lock may have removed the name, or another process may have put
    // another file there.
    let now = fstat(&fd)?;
    let named = statat(directory, name);
    if !now.same_file(&seen) || !named.is_ok_and(|named| named.same_file(&now)) {
        return Err(OpenError::Gone);
    }
    Ok(Some(fd))
}

/// Removes the name of an open file. What else has the name by now stays, and is no error.
pub(super) fn unlink_own(
    directory: BorrowedFd<'_>,
    name: &CStr,
    file: impl AsFd,
) -> haul_sys::Result<()> {
    let is_ours = match (statat(directory, name), fstat(file)) {
        (Ok(now), Ok(ours)) => now.same_file(&ours),
        _ => false,
    };
    if is_ours { unlinkat(directory, name) } else { Ok(()) }
}
