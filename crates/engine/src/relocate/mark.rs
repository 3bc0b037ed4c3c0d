//! A mark on the unfinished copy of a directory, by which a rerun knows it again where other users can rename entries.
//!
//! There the waiting name proves nothing, nor does the owner: another user can rename a directory of this user to
//! that name, and adoption removes what the source does not have. So the copy carries the identities of its
//! source and of itself in an extended attribute. Only a user who may write to the directory can set it, and no
//! copy of another directory has its inode and birth time.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::fs::{birth, fchmod, fgetxattr, fremovexattr, fsetxattr, fstat};
use haul_sys::{Errno, Result};

use super::note::Inode;
use crate::journal::OTHERS_WRITE;

const NAME: &CStr = c"user.haul.mv";

/// Write permission of the owner.
const WRITE: u32 = 0o200;

/// Returns the value for a copy; `None` if birth times do not distinguish it from a later directory with its
/// inode number.
fn value(copy: BorrowedFd<'_>, source: Inode) -> Result<Option<Vec<u8>>> {
    let own = Inode { number: fstat(copy)?.ino, birth: birth(copy)? };
    Ok(own.birth.and(source.birth).map(|_| format!("source {source} copy {own}").into_bytes()))
}

/// Marks an open directory as the copy of a source. Without a mark, or where the file system has none, a rerun
/// copies the source again.
pub(super) fn set(copy: &impl AsFd, source: Inode) {
    let copy = copy.as_fd();
    if let Ok(Some(value)) = value(copy, source) {
        let _marked = fsetxattr(copy, NAME, &value);
    }
}

/// Returns whether an open directory has the mark of the copy of a source, which only its owner can have set.
pub(super) fn is_on(copy: &impl AsFd, source: Inode) -> Result<bool> {
    let copy = copy.as_fd();
    if fstat(copy)?.mode & OTHERS_WRITE != 0 {
        return Ok(false);
    }
    let Some(expected) = value(copy, source)? else { return Ok(false) };
    match fgetxattr(copy, NAME) {
        Ok(found) => Ok(found == expected),
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the mark from a complete copy.
pub(super) fn remove(copy: &impl AsFd) -> Result<()> {
    let copy = copy.as_fd();
    let removed = match fremovexattr(copy, NAME) {
        // The owner may not write to a directory whose mode does not say so.
        Err(error) if error.errno == Errno::ACCESS => {
            let mode = fstat(copy)?.permissions();
            fchmod(copy, mode | WRITE)?;
            let removed = fremovexattr(copy, NAME);
            fchmod(copy, mode)?;
            removed
        }
        answer => answer,
    };
    match removed {
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        answer => answer,
    }
}
