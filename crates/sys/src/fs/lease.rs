//! `fcntl(F_SETLEASE)` — whether another process has a file open:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Once;

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

/// Returns whether a file that is open for reading here is open for writing anywhere, mappings included: the
/// kernel grants no read lease then (fcntl(2), `F_SETLEASE`). Returns `None` if no lease can be taken: on
/// another user's file without `CAP_LEASE`, and on file systems without leases.
///
/// The lease is released at once. A process that opens the file for writing meanwhile breaks it, for which the
/// kernel sends SIGIO; this process ignores that signal from the first call on.
pub fn is_open_for_writing(fd: impl AsFd) -> Option<bool> {
    static IGNORED: Once = Once::new();
    // SAFETY: the call takes two integers; no handler of this program is replaced.
    IGNORED.call_once(|| unsafe {
        libc::signal(libc::SIGIO, libc::SIG_IGN);
    });
    let raw = fd.as_fd().as_raw_fd();
    // SAFETY: both calls take a descriptor, which is borrowed for their duration, and two integers.
    let lease = |kind: i32| unsafe { libc::fcntl(raw, libc::F_SETLEASE, kind) };
    if lease(libc::F_RDLCK) == 0 {
        return (lease(libc::F_UNLCK) == 0).then_some(false);
    }
    let errno = std::io::Error::last_os_error().raw_os_error();
    (errno == Some(libc::EAGAIN)).then_some(true)
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
    #[test]
    fn a_writer_is_seen_and_a_reader_is_not() {
        let name = std::ffi::CString::new(format!(
            "{}/haul-written-{}",
            std::env::temp_dir().display(),
            std::process::id()
        ))
        .unwrap();
        let writer = openat(CWD, &name, OpenHow::new_file(0o600)).unwrap();
        let reader = openat(CWD, &name, OpenHow::READ).unwrap();
        let other = openat(CWD, &name, OpenHow::READ).unwrap();
        let while_open = is_open_for_writing(&reader);
        drop(writer);
        crate::fs::unlinkat(CWD, &name).unwrap();
        assert_eq!((while_open, is_open_for_writing(&reader)), (Some(true), Some(false)));
        drop(other);
    }
}
