//! `fcntl(F_SETLEASE)` — whether another process has a file open:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>

use std::os::fd::{AsFd, AsRawFd};

/// Returns whether this is the only open file description of a file, mappings included: the kernel
/// grants a write lease only then. The lease is released at once, because a broken lease causes
/// SIGIO.
///
/// Returns `false` also if no lease can be taken: on another user's file without `CAP_LEASE`, and
/// on file systems without leases.
pub fn is_open_here_alone(fd: impl AsFd) -> bool {
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: both calls take a descriptor, which is borrowed for their duration, and two integers.
    unsafe {
        libc::fcntl(raw, libc::F_SETLEASE, libc::F_WRLCK) == 0
            && libc::fcntl(raw, libc::F_SETLEASE, libc::F_UNLCK) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, OpenHow, openat};

    #[test]
    fn a_second_open_or_a_reader_is_seen() {
        let name = std::ffi::CString::new(format!(
            "{}/haul-alone-{}",
            std::env::temp_dir().display(),
            std::process::id()
        ))
        .unwrap();
        let ours = openat(CWD, &name, OpenHow::new_file(0o600)).unwrap();
        let alone = is_open_here_alone(&ours);
        let reader = openat(CWD, &name, OpenHow::READ).unwrap();
        let watched = is_open_here_alone(&ours);
        drop(reader);
        crate::fs::unlinkat(CWD, &name).unwrap();
        assert_eq!((alone, watched), (true, false));
        assert!(is_open_here_alone(&ours));
    }
}
