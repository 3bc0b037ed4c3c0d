//! `name_to_handle_at` — what identifies a file also when its inode number is used again:
//! <https://man7.org/linux/man-pages/man2/open_by_handle_at.2.html>
//!
//! The handle of a local file system contains the generation of the inode. The call needs no privilege and opens
//! nothing. `EOPNOTSUPP` where files have no handles, as on some FUSE servers; `EPERM` or `ENOSYS` behind some
//! filters of system calls.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use super::Follow;
use crate::{Call, CallError, Result};

/// Largest handle of any file system (`MAX_HANDLE_SZ`).
const MOST_BYTES: usize = 128;

/// The kernel's `struct file_handle`.
#[repr(C)]
struct Raw {
    handle_bytes: u32,
    handle_type: i32,
    handle: [u8; MOST_BYTES],
}

/// What identifies a file within its mounted file system, as long as the file exists and afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileHandle {
    form: i32,
    bytes: Box<[u8]>,
}

/// Returns the handle of a file.
pub fn file_handle(directory: impl AsFd, name: &CStr, follow: Follow) -> Result<FileHandle> {
    let mut raw = Raw { handle_bytes: MOST_BYTES as u32, handle_type: 0, handle: [0; MOST_BYTES] };
    let mut mount: libc::c_int = 0;
    let flags = if follow == Follow::Yes { libc::AT_SYMLINK_FOLLOW } else { 0 };
    // SAFETY: the kernel reads the name, which ends in a NUL, and fills in a structure of this layout, of which
    // `handle_bytes` tells the room, and an integer; all of them live until the call is over.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            directory.as_fd().as_raw_fd(),
            name.as_ptr(),
            &raw mut raw,
            &raw mut mount,
            flags,
        )
    };
    if answer != 0 {
        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        return Err(CallError::new(Call::NameToHandleAt, Errno::from_raw_os_error(code)));
    }
    let bytes = raw.handle[..raw.handle_bytes as usize].into();
    Ok(FileHandle { form: raw.handle_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::CWD;

    #[test]
    fn a_handle_belongs_to_one_file() {
        let of = |name| file_handle(CWD, name, Follow::No);
        let (Ok(here), Ok(source)) = (of(c"Cargo.toml"), of(c"src/lib.rs")) else {
            println!("ignored: the file system has no handles");
            return;
        };
        assert_ne!(here, source);
        assert_eq!(of(c"src/../Cargo.toml"), Ok(here));
        assert!(of(c"none").is_err_and(|error| error.errno == Errno::NOENT));
    }
}
