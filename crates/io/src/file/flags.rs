//! Flags of a file that chattr(1) sets, and its project: which ones are attributes that another file can get,
//! and how it gets them.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::fs::{
    Follow, InodeFlags, inode_flags, open_directory, project, set_inode_flags, set_project,
};
use haul_sys::{CallError, Errno};

/// Flags that say how the bytes are stored which a file gets later.
pub const BEFORE_BYTES: InodeFlags = InodeFlags::NO_COW
    .and(InodeFlags::COMPRESS)
    .and(InodeFlags::NO_COMPRESS)
    .and(InodeFlags::JOURNAL_DATA)
    .and(InodeFlags::NO_TAIL)
    .and(InodeFlags::DAX);

/// Flags that keep a file from being changed, linked and renamed, and a directory from getting entries.
pub const PINNING: InodeFlags = InodeFlags::IMMUTABLE.and(InodeFlags::APPEND_ONLY);

/// Flags that are attributes of the file and that a user can set. The others say how its file system has
/// stored it (extents, an index, encryption, verity), or how it compares names.
pub const KEPT: InodeFlags = BEFORE_BYTES
    .and(PINNING)
    .and(InodeFlags::SECURE_REMOVAL)
    .and(InodeFlags::UNDELETE)
    .and(InodeFlags::SYNC)
    .and(InodeFlags::NO_DUMP)
    .and(InodeFlags::NO_ATIME)
    .and(InodeFlags::DIR_SYNC)
    .and(InodeFlags::TOP_DIR)
    .and(InodeFlags::PROJECT_INHERIT);

/// Adds flags to those that a file has. Where it cannot have all of them, it gets those that it can have.
///
/// # Errors
///
/// Returns why a flag is missing.
pub fn add(file: BorrowedFd<'_>, wanted: InodeFlags) -> Result<(), Errno> {
    let read = || inode_flags(file).map_err(|error| error.errno);
    let set =
        |flags: InodeFlags| set_inode_flags(file, read()?.and(flags)).map_err(|error| error.errno);
    if wanted.is_empty() {
        return Ok(());
    }
    let missing = wanted.without(read()?);
    if missing.is_empty() {
        return Ok(());
    }
    let mut refused = set(missing).err();
    if refused.is_some() {
        for flag in missing.each() {
            refused = set(flag).err().or(refused);
        }
    }
    // A file system may ignore a flag: btrfs does so with `C` of a file that has bytes.
    let is_complete = wanted.without(read()?).is_empty();
    if is_complete { Ok(()) } else { Err(refused.unwrap_or(Errno::OPNOTSUPP)) }
}

/// How a file came to the project that it has.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// It was made under its name: a project is that of its directory, and stays.
    Made,
    /// It was there before, or gets its name later, in the directory with this path from an open one. Where that
    /// directory passes its project on, a file with another one can be neither linked nor renamed into it
    /// (`EXDEV`), so the project stays.
    Other(BorrowedFd<'a>, &'a CStr),
}

/// Sets the project of a file, unless `number` is 0, which is no project, or the file has to keep the one of its
/// directory. Where the directory cannot be read, the file may get a project with which its name is refused:
/// [`leave_project`] is for that.
///
/// # Errors
///
/// Returns why the file has another project.
pub fn join_project(file: BorrowedFd<'_>, number: u32, origin: Origin<'_>) -> Result<(), Errno> {
    if number == 0 {
        return Ok(());
    }
    let join = || {
        let has = project(file)?;
        let stays = match origin {
            _ if has == number => true,
            Origin::Made => has != 0,
            Origin::Other(above, path) => keeps(has, passes_project_on(above, path))?,
        };
        if stays { Ok(()) } else { set_project(file, number) }
    };
    join().map_err(|error: CallError| error.errno)
}

/// Takes the project from a file whose directory refuses it (`EXDEV`). Returns whether the file had one, and has none
/// now, so that the directory may take it.
pub(crate) fn leave_project(file: BorrowedFd<'_>) -> bool {
    project(file).is_ok_and(|number| number != 0) && set_project(file, 0).is_ok()
}

/// Returns whether a file with the project `has` keeps it in a directory that passes its project on, or does not, or
/// that cannot be read (`EACCES`). A project that the file has then is most
/// likely that of the directory; if it has none, the directory most likely passes none on.
fn keeps(has: u32, passes_on: Result<bool, CallError>) -> Result<bool, CallError> {
    match passes_on {
        Err(error) if error.errno == Errno::ACCESS => Ok(has != 0),
        answer => answer,
    }
}

/// Returns whether entries of a directory inherit its project (`chattr +P`).
fn passes_project_on(above: BorrowedFd<'_>, path: &CStr) -> Result<bool, CallError> {
    let opened = open_directory(above, path, Follow::Yes)?;
    Ok(!inode_flags(&opened)?.common(InodeFlags::PROJECT_INHERIT).is_empty())
}

/// Returns whether a refusal to tell flags or a project means that a file has none.
#[must_use]
pub fn has_none(errno: Errno) -> bool {
    matches!(errno, Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use haul_sys::Call;

    use super::*;

    #[test]
    fn a_directory_that_cannot_be_read_is_known_by_what_the_file_has() {
        let refused = |errno| CallError::new(Call::Openat, errno);
        for (has, passes_on, expected) in [
            (9, Ok(false), Ok(false)),
            (0, Ok(true), Ok(true)),
            (9, Err(refused(Errno::ACCESS)), Ok(true)),
            (0, Err(refused(Errno::ACCESS)), Ok(false)),
            (9, Err(refused(Errno::IO)), Err(refused(Errno::IO))),
        ] {
            assert_eq!(keeps(has, passes_on), expected, "{has} {passes_on:?}");
        }
    }
}
