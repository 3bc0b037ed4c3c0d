//! `fcntl(F_SETLEASE)` — whether another process has a file open:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>
//!
//! A process that opens the file while the lease exists breaks it, for which the kernel sends a signal: by default
//! SIGIO to the process, which ends it unless the program handles or ignores SIGIO. That signal is the program's, so
//! before it asks, this file directs the signal of its descriptor to the thread that asks, and makes it SIGURG
//! (`F_SETOWN_EX`, `F_SETSIG`). The kernel drops SIGURG where the thread has not blocked it and the program does not
//! handle it. Where the thread has blocked it, the kernel keeps one of that thread, which ends with the thread. A
//! handler of SIGURG runs once for nothing, in the thread that asks; that signal only says that there may be urgent
//! data. Nothing is taken from the queue of pending signals, for sigtimedwait(2) would also take a signal that the
//! process was sent.

use std::os::fd::{AsFd, AsRawFd};

use libc::c_int;

/// Names of the kernel's header `asm-generic/fcntl.h` that libc does not have for all platforms.
const F_SETSIG: c_int = 10;
const F_SETOWN_EX: c_int = 15;
const F_OWNER_TID: c_int = 0;

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: c_int,
    id: libc::pid_t,
}

/// Directs the signal for a broken lease of a descriptor. Returns `false` if the kernel cannot do that.
pub(super) fn direct_signal(fd: c_int) -> bool {
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let owner = Owner { kind: F_OWNER_TID, id: thread };
    // SAFETY: both calls take a descriptor that the caller has borrowed; the first one reads a structure that lives
    // through the call, the second one takes an integer.
    unsafe {
        libc::fcntl(fd, F_SETOWN_EX, &raw const owner) == 0
            && libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
    }
}

fn lease(fd: c_int, kind: c_int) -> bool {
    // SAFETY: the call takes a descriptor that the caller has borrowed, and two integers.
    unsafe { libc::fcntl(fd, libc::F_SETLEASE, kind) == 0 }
}

/// Returns whether this is the only open file description of a file, mappings included: the kernel
/// grants a write lease only then. The lease is released at once.
///
/// Returns `false` also if no lease can be taken: on another user's file without `CAP_LEASE`, and
/// on file systems without leases.
pub fn is_open_here_alone(fd: impl AsFd) -> bool {
    let raw = fd.as_fd().as_raw_fd();
    direct_signal(raw) && lease(raw, libc::F_WRLCK) && lease(raw, libc::F_UNLCK)
}

/// Returns whether a file that is open for reading here is open for writing anywhere, mappings included: the
/// kernel grants no read lease then (fcntl(2), `F_SETLEASE`). Returns `None` if no lease can be taken: on
/// another user's file without `CAP_LEASE`, and on file systems without leases.
///
/// The lease is released at once.
pub fn is_open_for_writing(fd: impl AsFd) -> Option<bool> {
    let raw = fd.as_fd().as_raw_fd();
    if !direct_signal(raw) {
        return None;
    }
    if lease(raw, libc::F_RDLCK) {
        return lease(raw, libc::F_UNLCK).then_some(false);
    }
    let errno = std::io::Error::last_os_error().raw_os_error();
    (errno == Some(libc::EAGAIN)).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{CWD, OpenHow, openat};

    /// Reads a set of signals of this thread from the kernel.
    fn signals(field: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let set = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        u64::from_str_radix(set.trim(), 16).unwrap()
    }

    /// Breaks a lease of this thread, and returns the thread's pending signals then.
    fn pending_after_a_break() -> u64 {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let name = std::ffi::CString::new(format!(
            "{}/haul-broken-{thread}",
            std::env::temp_dir().display(),
        ))
        .unwrap();
        drop(openat(CWD, &name, OpenHow::new_file(0o600)).unwrap());
        let reader = openat(CWD, &name, OpenHow::READ).unwrap();
        let raw = reader.as_raw_fd();
        assert!(direct_signal(raw) && lease(raw, libc::F_RDLCK));
        // SAFETY: the name ends in a NUL; without O_NONBLOCK the call would wait for this thread.
        let opened = unsafe { libc::open(name.as_ptr(), libc::O_WRONLY | libc::O_NONBLOCK) };
        let errno = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((opened, errno), (-1, Some(libc::EWOULDBLOCK)));
        assert!(lease(raw, libc::F_UNLCK));
        crate::fs::unlinkat(CWD, &name).unwrap();
        signals("SigPnd:")
    }

    #[test]
    fn a_broken_lease_concerns_the_thread_that_asked_alone() {
        // SIGIO, which would end this process, has its default action, and none of these comes.
        let sigio = 1_u64 << (libc::SIGIO - 1);
        assert_eq!((signals("SigIgn:") | signals("SigCgt:")) & sigio, 0);
        assert_eq!(pending_after_a_break(), 0);
        let blocked =
            crate::with_signals_blocked(|| std::thread::spawn(pending_after_a_break)).join();
        assert_eq!(blocked.unwrap(), 1_u64 << (libc::SIGURG - 1));
        assert_eq!((signals("SigIgn:") | signals("SigCgt:") | signals("ShdPnd:")) & sigio, 0);
    }

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
