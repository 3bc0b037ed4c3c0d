//! Descriptor of a directory with one side, which may be the current directory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::fs::CWD;

/// Descriptor of an open directory, or `AT_FDCWD`.
#[derive(Debug)]
pub struct Handle(Option<OwnedFd>);

impl Handle {
    /// The current directory, which is not opened: a user without read and search permission for
    /// it can still name absolute operands.
    pub const CURRENT: Handle = Handle(None);
}

impl From<OwnedFd> for Handle {
    fn from(fd: OwnedFd) -> Handle {
        Handle(Some(fd))
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().map_or(CWD, AsFd::as_fd)
    }
}
