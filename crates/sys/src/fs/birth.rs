//! `statx` — when a file was made (`STATX_BTIME`), and what a server says now (`AT_STATX_FORCE_SYNC`):
//! <https://man7.org/linux/man-pages/man2/statx.2.html>
//!
//! A file system reuses the inode number of a deleted file; together with the creation time it
//! identifies one file permanently, and across a reboot, which a device number may not.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags};

use super::Time;
use crate::error::Named;
use crate::{Call, Result, is_refused};

/// Returns the creation time of `name`, without following a symbolic link; `None` if the file
/// system does not record it, or `statx` is refused.
pub fn birth_at(directory: impl AsFd, name: &CStr) -> Result<Option<Time>> {
    ask(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the creation time of an open file; `None` if the file system does not record it.
pub fn birth(fd: impl AsFd) -> Result<Option<Time>> {
    ask(fd, c"", AtFlags::EMPTY_PATH)
}

/// Asks the server of a directory, if it has one, what has changed, so that names which others have made
/// are found: a client of NFS remembers for up to a minute that a name did not exist. See
/// `AT_STATX_FORCE_SYNC` in statx(2). A failure is none: the names are then as old as they were.
pub fn revalidate(directory: impl AsFd) {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    let _answer = rustix::fs::statx(directory, c"", flags, StatxFlags::BASIC_STATS);
}

fn ask(directory: impl AsFd, name: &CStr, flags: AtFlags) -> Result<Option<Time>> {
    let told = match rustix::fs::statx(directory, name, flags, StatxFlags::BTIME) {
        // Another call reports what is wrong with the file, if something is.
        Err(errno) if is_refused(Call::Statx, errno) => return Ok(None),
        answer => answer.named(Call::Statx)?,
    };
    let knows = StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::BTIME);
    let time = told.stx_btime;
    Ok(knows.then_some(Time { seconds: time.tv_sec, nanoseconds: time.tv_nsec }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_before_is_not_younger_than_now() {
        let born = birth_at(crate::fs::CWD, c"Cargo.toml").unwrap();
        let told = crate::fs::statat(crate::fs::CWD, c"Cargo.toml").unwrap();
        assert!(born.is_none_or(|born| born <= told.ctime));
        let open =
            crate::fs::openat(crate::fs::CWD, c"Cargo.toml", crate::fs::OpenHow::READ).unwrap();
        assert_eq!(birth(open).unwrap(), born);
    }
}
