//! How a program of haul starts: the C library calls it, and the standard library prepares nothing before.
//!
//! A crate of its own, which only programs link: a library must not decide about descriptors that it did not open.
//!
//! Before `main` the standard library reads `/proc/self/maps` to find the end of the stack, installs handlers with a
//! stack of their own that tell of an overflow, and ignores `SIGPIPE`: 24 calls, a third of those with which `cat`
//! shows a small file, and more in each thread. Without them an overflow ends the process by `SIGSEGV`, as in a
//! program in C, and `SIGPIPE` does what the parent decided: by default a write to a pipe without readers ends the
//! process silently; if the parent had the signal ignored (signal(7)), the write fails with `EPIPE`.
//!
//! The standard library also opens `/dev/null` in place of closed standard descriptors, so that no file opened later
//! becomes standard output by accident. But then a closed input reads as an empty one, and writes to a closed output
//! succeed. Here it is opened for writing only as standard input, and for reading only as standard output. Reads and
//! writes then fail with `EBADF`, as on a closed descriptor, also in the programs that we start.

use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt as _;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

/// One bit for each standard descriptor.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Exit status after a panic, as of every program in Rust.
const PANICKED: c_int = 101;

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

/// Makes a function the program: it gets the words of the command line, and returns the exit status. For programs with
/// `#![no_main]`.
#[macro_export]
macro_rules! program {
    ($run:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn main(
            count: ::std::ffi::c_int,
            words: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            // SAFETY: the C library calls `main` once, with the words of the command line.
            unsafe { $crate::start($run, count, words) }
        }
    };
}

/// Runs a program, and ends the process with its exit status.
///
/// # Safety
///
/// `words` has to be `count` texts that end in a NUL, and no other thread may have been started.
#[expect(
    clippy::exit,
    reason = "it returns from `main`, and writes what standard output holds back"
)]
pub unsafe fn start(
    run: fn(&[OsString]) -> ExitCode,
    count: c_int,
    words: *const *const c_char,
) -> ! {
    look_at_standard_descriptors();
    let word = |at| {
        // SAFETY: the caller promises so many texts.
        let word = unsafe { CStr::from_ptr(*words.add(at)) };
        OsString::from_vec(word.to_bytes().to_vec())
    };
    let words: Vec<OsString> = (0..usize::try_from(count).unwrap_or(0)).map(word).collect();
    // The panic has been told by then.
    let status = catch_unwind(|| run(&words)).map_or(PANICKED, number);
    std::process::exit(status)
}

/// Returns the number of an exit status, which the standard library keeps to itself.
fn number(code: ExitCode) -> c_int {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).map_or(PANICKED, c_int::from)
}

fn look_at_standard_descriptors() {
    let mut asked = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the structures live through the call, which touches nothing else and waits for nothing.
    let has_answered = unsafe { libc::poll(asked.as_mut_ptr(), 3, 0) } >= 0;
    for one in asked {
        let is_closed = match has_answered {
            true => one.revents & libc::POLLNVAL != 0,
            // A limit of fewer than three descriptors (EINVAL).
            // SAFETY: asking for the flags of a descriptor touches no memory.
            false => unsafe { libc::fcntl(one.fd, libc::F_GETFD) == -1 },
        };
        if is_closed {
            CLOSED.fetch_or(1 << one.fd, Ordering::Relaxed);
            stand_in(one.fd);
        }
    }
}

/// Keeps the number of a closed descriptor taken, by a file that refuses what the number is for.
fn stand_in(fd: c_int) {
    let access = match fd {
        0 => libc::O_WRONLY,
        1 => libc::O_RDONLY,
        // A failed write to standard error cannot be reported anywhere.
        _ => libc::O_RDWR,
    };
    // SAFETY: the name ends in a NUL. The lowest free number is the one that is closed.
    if unsafe { libc::open(c"/dev/null".as_ptr(), access) } == -1 {
        // The next file that is opened would be taken for a standard descriptor, and written to.
        std::process::abort();
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_status_has_its_number() {
        for status in 0..=u8::MAX {
            assert_eq!(number(ExitCode::from(status)), c_int::from(status));
        }
    }
}
