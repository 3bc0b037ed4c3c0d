//! `mknodat` — makes FIFOs, sockets and devices: <https://man7.org/linux/man-pages/man2/mknod.2.html>

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{FileType, Mode};

use crate::error::Named;
use crate::fs::Kind;
use crate::{Call, CallError, Errno, Result};

/// Makes a FIFO, a socket or a device with this mode less the umask.
///
/// Fails with `EPERM` for devices without `CAP_MKNOD`, and with `EINVAL` for kinds that other calls
/// create.
pub fn mknodat(directory: impl AsFd, name: &CStr, kind: Kind, mode: u32, rdev: u64) -> Result<()> {
    let file_type = match kind {
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::CharDevice => FileType::CharacterDevice,
        Kind::Regular | Kind::Directory | Kind::Symlink | Kind::Unknown => {
            return Err(CallError::new(Call::Mknodat, Errno::INVAL));
        }
    };
    let mode = Mode::from_raw_mode(mode & 0o7777);
    rustix::fs::mknodat(directory, name, file_type, mode, rdev).named(Call::Mknodat)
}
