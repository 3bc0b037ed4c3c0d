//! `openat` — opens or creates a file relative to a directory:
//! <https://man7.org/linux/man-pages/man2/open.2.html>
//!
//! Every descriptor is close-on-exec and never becomes the controlling terminal. Unless the caller
//! asks to wait, opening never blocks on a FIFO, because `O_NONBLOCK` is set. If another process
//! holds a lease on a regular file (fcntl(2), "Leases"; file servers take leases for their clients'
//! caches), the flag makes the call fail with `EAGAIN` after the kernel has asked the holder to
//! release the lease; this module then waits as a blocking call would.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::error::Named;
use crate::fs::{Follow, Kind, statat, statat_follow};
use crate::process::stop_signal;
use crate::{Call, Errno, Result};

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

/// How long to wait for a lease that another process holds on a file. The kernel revokes the lease
/// after `/proc/sys/fs/lease-break-time`, by default 45 seconds.
pub const LEASE_WAIT: Duration = Duration::from_secs(60);

/// Interval between attempts.
const LEASE_STEP: Duration = Duration::from_millis(10);

/// Opens `name` relative to `directory`.
///
/// Never blocks on a FIFO. Writing to a FIFO without a reader fails with `ENXIO`. If another
/// process holds a lease on a regular file, blocks for at most [`LEASE_WAIT`] or until a signal
/// asks the run to stop; then fails with `EAGAIN`.
pub fn openat(directory: impl AsFd, name: &CStr, how: OpenHow) -> Result<OwnedFd> {
    match open_once(&directory, name, how) {
        Err(error) if error.errno == Errno::AGAIN && how.wait == Wait::No => {
            open_leased(directory.as_fd(), name, how, LEASE_WAIT)
        }
        answer => answer,
    }
}

fn open_leased(
    directory: BorrowedFd<'_>,
    name: &CStr,
    how: OpenHow,
    most: Duration,
) -> Result<OwnedFd> {
    let begun = Instant::now();
    loop {
        let answer = open_once(directory, name, how);
        let is_leased = matches!(&answer, Err(error) if error.errno == Errno::AGAIN)
            // Do not wait for a device that is not ready.
            && kind_at(directory, name, how.follow) == Some(Kind::Regular);
        if !is_leased || begun.elapsed() >= most || stop_signal().is_some() {
            return answer;
        }
        std::thread::sleep(LEASE_STEP);
    }
}

fn kind_at(directory: BorrowedFd<'_>, name: &CStr, follow: Follow) -> Option<Kind> {
    let stat = match follow {
        Follow::Yes => statat_follow(directory, name),
        Follow::No => statat(directory, name),
    };
    stat.ok().map(|stat| stat.kind())
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

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;
    use crate::fs::{CWD, unlinkat};

    fn lease(fd: &OwnedFd, kind: libc::c_int) -> bool {
        // SAFETY: the calls take integers and an open descriptor. A process that breaks a lease
        // causes SIGIO, which would end this process.
        unsafe {
            libc::signal(libc::SIGIO, libc::SIG_IGN);
            libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind) == 0
        }
    }

    #[test]
    fn a_lease_is_waited_for_and_not_for_ever() {
        let path = format!("{}/haul-openat-{}", std::env::temp_dir().display(), std::process::id());
        let name = std::ffi::CString::new(path).unwrap();
        let holder = open_once(CWD, &name, OpenHow::new_file(0o600)).unwrap();
        if !lease(&holder, libc::F_WRLCK) {
            unlinkat(CWD, &name).unwrap();
            println!("ignored: the directory for temporary files has no leases");
            return;
        }
        let refused = |answer: Result<OwnedFd>| answer.map_err(|error| error.errno).err();
        assert_eq!(refused(open_once(CWD, &name, OpenHow::READ)), Some(Errno::AGAIN));
        let most = Duration::from_millis(30);
        let late = open_leased(CWD, &name, OpenHow::READ, most);
        assert_eq!(refused(late), Some(Errno::AGAIN));
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| openat(CWD, &name, OpenHow::READ));
            assert!(lease(&holder, libc::F_UNLCK));
            assert_eq!(refused(opening.join().unwrap()), None);
        });
        unlinkat(CWD, &name).unwrap();
    }
}
