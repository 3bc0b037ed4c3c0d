//! `statx(STATX_NLINK)` — how many names a file has now, past what the kernel remembers of it
//! (`AT_STATX_FORCE_SYNC`): <https://man7.org/linux/man-pages/man2/statx.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags};

use crate::error::Named;
use crate::{Call, Result};

/// Returns the number of names of a file, without following a symbolic link. A server or a program is asked:
/// FUSE and NFS remember a number for a second or more, also one that a link and a removal have passed
/// through.
pub fn link_count_at(directory: impl AsFd, name: &CStr) -> Result<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC;
    let told = rustix::fs::statx(directory, name, flags, StatxFlags::NLINK).named(Call::Statx)?;
    Ok(u64::from(told.stx_nlink))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_just_read_has_the_names_that_stat_tells() {
        let told = crate::fs::statat(crate::fs::CWD, c"Cargo.toml").unwrap();
        assert_eq!(link_count_at(crate::fs::CWD, c"Cargo.toml").unwrap(), told.nlink);
    }
}
