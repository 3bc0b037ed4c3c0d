//! Waiting until what was written is on stable storage: once for everything, where that can be
//! trusted, else file by file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::stale::moves;
use haul_io::quirk::{self, GroupSync, NameSync};
use haul_sys::Errno;
use haul_sys::fs::{
    Access, Follow, fstatfs, fsync_names, mount_id, open_directory, open_unnamed, syncfs,
};

/// How a file system is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// `syncfs` writes everything and tells of every error; `fsync` of a directory makes the names
    /// in it last.
    Whole,
    /// The same, but renames are only certain to last after another `syncfs`.
    WholeTwice,
    /// Each file and directory has to be waited for.
    Each,
}

/// What a directory's file system is waited for with. It has to be as old as the first copy, for an
/// error is told to those who had the file system open before it came about.
pub(super) struct Anchor {
    fd: OwnedFd,
    /// Whether it is the directory itself.
    is_directory: bool,
    pub(super) trust: Trust,
}

impl Anchor {
    /// Takes hold of a directory's file system.
    pub(super) fn new(directory: BorrowedFd<'_>) -> haul_sys::Result<Anchor> {
        let refused = match open_directory(directory, c".", Follow::No) {
            Ok(fd) => {
                moves::announce(&fd);
                let trust = trust(fd.as_fd());
                return Ok(Anchor { fd, is_directory: true, trust });
            }
            Err(error) => error,
        };
        if refused.errno != Errno::ACCESS {
            return Err(refused);
        }
        // Who may put things into a directory need not be allowed to read it. A file that never gets
        // a name leads to the same file system, and where waiting for all of that is enough, it will do.
        let fd = open_unnamed(directory, 0o600, Access::Write).map_err(|_| refused)?;
        let trust = trust(fd.as_fd());
        if trust == Trust::Each {
            Err(refused)
        } else {
            Ok(Anchor { fd, is_directory: false, trust })
        }
    }

    /// Waits until the copies are on stable storage. An error is final: the pages count as clean
    /// after it, so asking again proves nothing.
    pub(super) fn copies(&self) -> haul_sys::Result<()> {
        match self.trust {
            Trust::Whole | Trust::WholeTwice => syncfs(&self.fd),
            // The copy has waited for each of them.
            Trust::Each => Ok(()),
        }
    }

    /// Waits until the names in the directory are on stable storage.
    pub(super) fn names(&self) -> haul_sys::Result<()> {
        if self.trust == Trust::WholeTwice || !self.is_directory {
            return syncfs(&self.fd);
        }
        fsync_names(&self.fd)
    }
}

/// Finds out how the file system of something open is waited for.
fn trust(directory: BorrowedFd<'_>) -> Trust {
    // syncfs tells of write errors since Linux 5.8, the release that also brought mount numbers
    // (syncfs(2), statx(2)).
    let is_told = mount_id(directory, c"").is_ok_and(|number| number.is_some());
    if !is_told {
        return Trust::Each;
    }
    let quirk = fstatfs(directory).map_or(&quirk::UNKNOWN, |told| quirk::of_magic(told.magic));
    match (quirk.group_sync, quirk.name_sync) {
        (GroupSync::Whole, NameSync::Directory) => Trust::Whole,
        (GroupSync::Whole, NameSync::FileSystem) => Trust::WholeTwice,
        (GroupSync::Short, _) => Trust::Each,
    }
}
