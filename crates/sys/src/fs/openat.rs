//! `openat` — opens or creates a file relative to a directory:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! Every descriptor is close-on-exec and never becomes the controlling terminal. Unless the caller
//! asks to wait, opening never blocks on a FIFO, because `O_NONBLOCK` is set. If another process
//! holds a lease on a regular file (fcntl(2), "Leases"; file servers take leases for their clients'
//! caches), the flag makes the call fail with `EAGAIN` after the kernel has asked the holder to
//! release the lease; this module then waits as a blocking call would.

mod lease_wait;

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::error::Named;
use crate::fs::Follow;
use crate::{Call, Errno, Result};
pub use lease_wait::LEASE_WAIT;

/// Access mode of the descriptor.
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

/// Whether the call may, must or must not create the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// The file must exist.
    No,
    /// The call creates the file with this mode (less the umask). It must not exist (`O_EXCL`), not
    /// even as a symbolic link.
    New(u32),
    /// The call creates the file with this mode (less the umask) if it does not exist.
    IfAbsent(u32),
}

/// Behaviour at a FIFO or device that is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Opening and reading return at once (`O_NONBLOCK`).
    No,
    /// Opening and reading block; only for operands that the user named.
    Yes,
}

/// How to open.
#[derive(Clone, Copy, Debug)]
pub struct OpenHow {
    /// Access mode of the descriptor.
    pub access: Access,
    /// Whether the call creates the file.
    pub create: Create,
    /// Whether the last component may be a symbolic link.
    pub follow: Follow,
    /// Whether to wait for a FIFO or device.
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

    /// Pins what a name leads to, also a symbolic link, without a permission for it (`O_PATH`).
    pub const HANDLE: OpenHow = OpenHow { access: Access::Path, ..OpenHow::READ };

    /// Pins a directory, which needs no permission to read it.
    pub const DIRECTORY_HANDLE: OpenHow = OpenHow { extra: OFlags::DIRECTORY, ..OpenHow::HANDLE };

    /// Creates a new file for writing, with this mode less the umask.
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

    /// Returns the same options, but the last component may be a symbolic link.
    #[must_use]
    pub const fn following(mut self, follow: Follow) -> OpenHow {
        self.follow = follow;
        self
    }

    /// Returns the same options, but waits for a FIFO or device.
    #[must_use]
    pub const fn waiting(mut self) -> OpenHow {
        self.wait = Wait::Yes;
        self
    }
}

/// Opens `name` relative to `directory`.
///
/// Never blocks on a FIFO. Writing to a FIFO without a reader fails with `ENXIO`. If another
/// process holds a lease on a regular file, blocks for at most [`LEASE_WAIT`] or until a
/// signal, or the thread's run, asks to stop; then fails with `EAGAIN`. So does a file whose server answers `EAGAIN`
/// without a lease, after half a second, and at once for the next such file.
pub fn openat(directory: impl AsFd, name: &CStr, how: OpenHow) -> Result<OwnedFd> {
    match open_once(&directory, name, how) {
        Err(error) if error.errno == Errno::AGAIN && how.wait == Wait::No => {
            lease_wait::open(directory.as_fd(), name, how, LEASE_WAIT)
        }
        answer => answer,
    }
}

fn open_once(directory: impl AsFd, name: &CStr, how: OpenHow) -> Result<OwnedFd> {
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
/// Fails with `ENOTDIR` if it is not a directory; with [`Follow::No`] also if it is a symbolic link
/// to one.
pub fn open_directory(parent: impl AsFd, name: &CStr, follow: Follow) -> Result<OwnedFd> {
    let how = OpenHow { extra: OFlags::DIRECTORY, follow, ..OpenHow::READ };
    openat(parent, name, how)
}
