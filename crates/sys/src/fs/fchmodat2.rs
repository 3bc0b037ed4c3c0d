//! `fchmodat2` — sets the permission bits of a file that is open with `O_PATH`, since Linux 6.6:
//! <https://man7.org/linux/man-pages/man2/chmod.2.html>

use std::os::fd::{AsFd, AsRawFd as _};

use crate::{Call, CallError, Errno, Result};

/// Number of the call, which every architecture has alike: `include/uapi/asm-generic/unistd.h`.
const SYS_FCHMODAT2: libc::c_long = 452;

/// Sets the twelve permission bits of the file behind a descriptor. `ENOSYS` before Linux 6.6.
pub(super) fn fchmodat2(file: impl AsFd, mode: u32) -> Result<()> {
    // SAFETY: the kernel reads the empty path, which lives until the call is over.
    let answer = unsafe {
        libc::syscall(
            SYS_FCHMODAT2,
            file.as_fd().as_raw_fd(),
            c"".as_ptr(),
            mode & 0o7777,
            libc::AT_EMPTY_PATH,
        )
    };
    if answer == 0 {
        return Ok(());
    }
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    Err(CallError::new(Call::Fchmodat, Errno::from_raw_os_error(code)))
}
