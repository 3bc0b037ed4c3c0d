//! `statx(STATX_BTIME)` — when a file was made: <https://man7.org/linux/man-pages/man2/statx.2.html>
//!
//! A file system reuses the inode number of a deleted file; together with the creation time it
//! identifies one file permanently, and across a reboot, which a device number may not.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags};

use super::Time;
use crate::error::Named;
use crate::{Call, Result};

/// Returns the creation time of `name`, without following a symbolic link; `None` if the file
/// system does not record it.
pub fn birth_at(directory: impl AsFd, name: &CStr) -> Result<Option<Time>> {
    ask(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Returns the creation time of an open file; `None` if the file system does not record it.
pub fn birth(fd: impl AsFd) -> Result<Option<Time>> {
    ask(fd, c"", AtFlags::EMPTY_PATH)
}

fn ask(directory: impl AsFd, name: &CStr, flags: AtFlags) -> Result<Option<Time>> {
    let told = rustix::fs::statx(directory, name, flags, StatxFlags::BTIME).named(Call::Statx)?;
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
