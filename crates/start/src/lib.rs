//! Process state at start, which the standard library changes before `main`.
//!
//! A crate of its own, which only programs link: what the loader calls would otherwise run in each process
//! that loads a library of haul.
//!
//! The standard library opens `/dev/null` in place of closed standard descriptors, so that no file
//! opened later becomes standard output by accident. But then a closed input reads as an empty one,
//! and writes to a closed output succeed. So this module opens `/dev/null` before the library does:
//! for writing only as standard input, and for reading only as standard output. Reads and writes then
//! fail with `EBADF`, as on a closed descriptor, also in the programs that we start. The library also
//! ignores `SIGPIPE`, which the parent should decide; so this module reads that before, too.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// One bit for each standard descriptor.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether the parent had `SIGPIPE` ignored.
static IGNORES_BROKEN_PIPE: AtomicBool = AtomicBool::new(false);

/// A standard descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Descriptor 0.
    Input,
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

/// Keeps the number of a closed descriptor taken, by a file that refuses what the number is for.
fn stand_in(fd: i32) {
    let access = match fd {
        0 => libc::O_WRONLY,
        1 => libc::O_RDONLY,
        // A failed write to standard error cannot be reported anywhere.
        _ => return,
    };
    // SAFETY: the name ends in a NUL. The lowest free number is the one that is closed; where there is
    // no such device, the number stays free, and the standard library ends the process.
    unsafe {
        libc::open(c"/dev/null".as_ptr(), access);
    }
}

extern "C" fn look() {
    for fd in 0..3 {
        // SAFETY: asking for the flags of a descriptor touches no memory; nothing of the standard
        // library is used before it is set up.
        let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1;
        if !is_open {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
            stand_in(fd);
        }
    }
    // SAFETY: zeros are a valid value of this plain structure, which the kernel fills in.
    let ignores = unsafe {
        let mut found: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut found) == 0
            && found.sa_sigaction == libc::SIG_IGN
    };
    IGNORES_BROKEN_PIPE.store(ignores, Ordering::Relaxed);
}

// SAFETY: the section holds addresses of functions that the loader calls before `main`, and `look`
// needs nothing of the standard library.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Returns whether a standard descriptor was closed when the process began.
#[must_use]
pub fn was_closed(which: Standard) -> bool {
    let bit = match which {
        Standard::Input => 1,
        Standard::Output => 2,
        Standard::Error => 4,
    };
    CLOSED.load(Ordering::Relaxed) & bit != 0
}

/// Restores the default action of `SIGPIPE`: a write to a pipe without readers ends the process
/// silently. If the parent had the signal ignored (signal(7)), the write fails with `EPIPE`, and
/// the caller reports it.
pub fn inherit_broken_pipe() {
    if IGNORES_BROKEN_PIPE.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: setting a signal's default action touches no memory.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
