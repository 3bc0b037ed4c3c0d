//! `FS_IOC_GETFSUUID` — the UUID of a file system, since Linux 6.9:
//! <https://git.kernel.org/torvalds/c/41bcbe59c3b3f>

use std::os::fd::{AsFd, AsRawFd};

use crate::{Call, CallError, Errno, Result};

/// `_IOR(0x15, 0, struct fsuuid2)`.
const FS_IOC_GETFSUUID: u64 = 0x8011_1500;

/// `struct fsuuid2`.
#[repr(C)]
struct Uuid {
    /// Number of bytes that are used.
    length: u8,
    bytes: [u8; 16],
}

/// Returns the UUID of the file system that holds an open file, padded with zeros. It may be all zeros.
///
/// Fails with `ENOTTY` where the kernel or the file system has none, and with `EBADF` for a descriptor of
/// `O_PATH`.
pub fn file_system_uuid(fd: impl AsFd) -> Result<[u8; 16]> {
    let mut uuid = Uuid { length: 0, bytes: [0; 16] };
    // SAFETY: the request writes 17 bytes, the size of `Uuid`, which lives until the call returns; the
    // descriptor is borrowed for as long.
    let answer =
        unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), FS_IOC_GETFSUUID as _, &raw mut uuid) };
    if answer != 0 {
        let errno = Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO);
        return Err(CallError::new(Call::FsUuid, errno));
    }
    let Uuid { length, mut bytes } = uuid;
    bytes.iter_mut().skip(usize::from(length)).for_each(|byte| *byte = 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, Follow, open_directory};

    #[test]
    fn the_answer_has_the_size_that_the_request_names() {
        assert_eq!(std::mem::size_of::<Uuid>() as u64, FS_IOC_GETFSUUID >> 16 & 0x3fff);
    }

    #[test]
    fn a_file_system_of_the_kernel_has_none() {
        let proc = open_directory(CWD, c"/proc", Follow::Yes).unwrap();
        assert_eq!(file_system_uuid(&proc).unwrap_err().errno, Errno::NOTTY);
    }
}
