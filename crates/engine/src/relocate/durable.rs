//! Waits until written data is on stable storage: once for the file system, where its `syncfs` is
//! reliable, otherwise file by file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::relocate::stale::moves;
use haul_io::quirk::{self, GroupSync, NameSync};
use haul_io::stored::flush_all;
use haul_sys::Errno;
use haul_sys::fs::{Access, Follow, fsync_names, mount_id, open_directory, open_unnamed};

/// Way to wait for the data of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// `syncfs` writes all data and reports every error; `fsync` of a directory makes its names
    /// durable.
    Whole,
    /// Like `Whole`, but only another `syncfs` makes renames durable.
    WholeTwice,
    /// The run has to wait for each file and directory.
    Each,
}

/// Descriptor for waiting for a directory's file system. The caller opens it before the first
/// copy, because the kernel reports a write error only to descriptors that were open when the
/// error occurred.
pub(super) struct Anchor {
    fd: OwnedFd,
    /// Whether the descriptor is the directory itself.
    is_directory: bool,
    pub(super) trust: Trust,
}

impl Anchor {
    /// Opens a descriptor on a directory's file system.
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
        // A user may have write permission but no read permission for a directory. An unnamed
        // temporary file is on the same file system, so its descriptor serves as well where one
        // wait covers the file system.
        let fd = open_unnamed(directory, 0o600, Access::Write).map_err(|_| refused)?;
        let trust = trust(fd.as_fd());
        if trust == Trust::Each {
            Err(refused)
        } else {
            Ok(Anchor { fd, is_directory: false, trust })
        }
    }

    /// Waits until the copies are on stable storage. An error is final: the kernel marks the pages
    /// clean after it, so a second call proves nothing.
    pub(super) fn copies(&self) -> haul_sys::Result<()> {
        match self.trust {
            Trust::Whole | Trust::WholeTwice => flush_all(&self.fd),
            // The copy has already waited for each file.
            Trust::Each => Ok(()),
        }
    }

    /// Waits until the names in the directory are on stable storage.
    pub(super) fn names(&self) -> haul_sys::Result<()> {
        if self.trust == Trust::WholeTwice || !self.is_directory {
            return flush_all(&self.fd);
        }
        fsync_names(&self.fd)
    }
}

/// Returns the way to wait for the file system of an open directory.
fn trust(directory: BorrowedFd<'_>) -> Trust {
    // syncfs reports write errors since Linux 5.8, the release that also added mount IDs
    // (syncfs(2), statx(2)).
    let is_told = mount_id(directory, c"").is_ok_and(|number| number.is_some());
    if !is_told {
        return Trust::Each;
    }
    let quirk = quirk::of(directory);
    match (quirk.group_sync, quirk.name_sync) {
        (GroupSync::Whole, NameSync::Directory) => Trust::Whole,
        (GroupSync::Whole, NameSync::FileSystem) => Trust::WholeTwice,
        (GroupSync::Short, _) => Trust::Each,
    }
}
