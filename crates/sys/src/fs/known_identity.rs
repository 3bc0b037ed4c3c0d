//! `statx(STATX_INO)` — which file a descriptor is open for, without a question to a server (`AT_STATX_DONT_SYNC`):
//! <https://man7.org/linux/man-pages/man2/statx.2.html>

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, makedev};

use crate::error::Named;
use crate::{Call, Result};

/// Returns device and inode of an open file. They do not change while it is open, so what the kernel remembers is
/// true, and fstat(2) would make NFS write the file back first, and ask the server, as FUSE does.
pub fn known_identity(fd: impl AsFd) -> Result<(u64, u64)> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let told = rustix::fs::statx(fd, c"", flags, StatxFlags::INO).named(Call::Statx)?;
    Ok((makedev(told.stx_dev_major, told.stx_dev_minor), told.stx_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_the_one_that_fstat_describes() {
        let open =
            crate::fs::openat(crate::fs::CWD, c"Cargo.toml", crate::fs::OpenHow::READ).unwrap();
        let told = crate::fs::fstat(&open).unwrap();
        assert_eq!(known_identity(&open).unwrap(), (told.dev, told.ino));
    }
}
