//! `openat` — opens or creates a file relative to a directory:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! Every descriptor is close-on-exec and never becomes the controlling terminal. Unless told to
//! wait, opening never blocks: `O_NONBLOCK` is set, so that a FIFO found in a tree answers at
//! once; it has no effect on regular files and directories.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::error::Named;
use crate::fs::Follow;
use crate::{Call, Result};

/// What the descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Writing only.
    Write,
    /// Both.
    ReadWrite,
    /// Neither: a handle for the `*at` calls and `fstat` (`O_PATH`).
    Path,
}

/// Whether the file may, must or must not be made by the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// It has to be there already.
    No,
    /// It is made with this mode (less the umask) and must not be there yet (`O_EXCL`), not even
    /// as a symbolic link.
    New(u32),
    /// It is made with this mode (less the umask) where it is not there yet.
    IfAbsent(u32),
}

/// What happens at a FIFO or device that is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Opening and reading answer at once (`O_NONBLOCK`).
    No,
    /// Opening and reading block; only for operands that a person named.
    Yes,
}

/// How to open.
#[derive(Clone, Copy, Debug)]
pub struct OpenHow {
    /// What the descriptor is for.
    pub access: Access,
    /// Whether the file is made.
    pub create: Create,
    /// Whether the last component may be a symbolic link.
    pub follow: Follow,
    /// Whether a FIFO or device may be waited for.
    pub wait: Wait,
    /// Further flags, such as `O_DIRECT` or `O_NOATIME`.
    pub extra: OFlags,
}

impl OpenHow {
    /// Reads an existing file; the last component must not be a symbolic link.
    pub const READ: OpenHow = OpenHow {
        access: Access::Read,
        create: Create::No,
        follow: Follow::No,
        wait: Wait::No,
        extra: OFlags::empty(),
    };

    /// Writes an existing file; the last component must not be a symbolic link.
    pub const WRITE: OpenHow = OpenHow {
        access: Access::Write,
        create: Create::No,
        follow: Follow::No,
        wait: Wait::No,
        extra: OFlags::empty(),
    };

    /// Makes a new file for writing, with this mode less the umask.
    #[must_use]
    pub const fn new_file(mode: u32) -> OpenHow {
        OpenHow {
            access: Access::Write,
            create: Create::New(mode),
            follow: Follow::No,
            wait: Wait::No,
            extra: OFlags::empty(),
        }
    }

    /// The same, but the last component may be a symbolic link.
    #[must_use]
    pub const fn following(mut self, follow: Follow) -> OpenHow {
        self.follow = follow;
        self
    }

    /// The same, but a FIFO or device may be waited for.
    #[must_use]
    pub const fn waiting(mut self) -> OpenHow {
        self.wait = Wait::Yes;
        self
    }
}

/// Opens `name` relative to `directory`.
///
/// Never blocks on a FIFO. Writing to a FIFO without a reader fails with `ENXIO`.
pub fn openat(directory: impl AsFd, name: &CStr, how: OpenHow) -> Result<OwnedFd> {
    let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY | how.extra;
    flags |= match how.access {
        Access::Read => OFlags::RDONLY,
        Access::Write => OFlags::WRONLY,
        Access::ReadWrite => OFlags::RDWR,
        Access::Path => OFlags::PATH,
    };
    if how.wait == Wait::No && how.access != Access::Path {
        flags |= OFlags::NONBLOCK;
    }
    if how.follow == Follow::No {
        flags |= OFlags::NOFOLLOW;
    }
    let mode = match how.create {
        Create::No => 0,
        Create::New(mode) => {
            flags |= OFlags::CREATE | OFlags::EXCL;
            mode
        }
        Create::IfAbsent(mode) => {
            flags |= OFlags::CREATE;
            mode
        }
    };
    rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(mode)).named(Call::Openat)
}

/// Opens a directory for reading its entries and as the base of `*at` calls.
///
/// `ENOTDIR` when it is none; with [`Follow::No`] also when it is a symbolic link to one.
pub fn open_directory(parent: impl AsFd, name: &CStr, follow: Follow) -> Result<OwnedFd> {
    let how = OpenHow { extra: OFlags::DIRECTORY, follow, ..OpenHow::READ };
    openat(parent, name, how)
}
