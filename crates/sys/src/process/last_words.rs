//! `sigaction` — writes a text on standard error when a signal ends this process:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! For a command that a signal may end at any time, because it leaves nothing behind but a line on the
//! terminal.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::stop::die_by;

static WORDS: AtomicPtr<&'static [u8]> = AtomicPtr::new(std::ptr::null_mut());

/// The signals of a terminal and of an administrator.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn on_signal(signal: libc::c_int) {
    // The handler makes calls that signal-safety(7) allows, and no others.
    let words = WORDS.load(Ordering::Acquire);
    if !words.is_null() {
        // SAFETY: the pointer is that of a value that is never freed.
        let words: &'static [u8] = unsafe { *words };
        let mut terminal = libc::pollfd { fd: 2, events: libc::POLLOUT, revents: 0 };
        // SAFETY: the kernel writes to one structure, which lives until the call is over.
        let ready = unsafe { libc::poll(&raw mut terminal, 1, 0) };
        // A terminal that takes nothing (^S, a connection that hangs) must not keep the process alive.
        if ready == 1 && terminal.revents & libc::POLLOUT != 0 {
            // SAFETY: the bytes live for ever. There is nowhere to tell that the call failed.
            let _nowhere_to_tell = unsafe { libc::write(2, words.as_ptr().cast(), words.len()) };
        }
    }
    die_by(signal);
}

/// Writes `words` on standard error when a signal ends the process, instead of those before; none if
/// they are empty, or if standard error would block. Signals that are ignored, or have a handler, stay so. What was given is never
/// freed.
pub fn last_words(words: &str) {
    let bytes: &'static [u8] = Box::leak(words.as_bytes().to_vec().into_boxed_slice());
    WORDS.store(Box::leak(Box::new(bytes)), Ordering::Release);
    for signal in SIGNALS {
        // SAFETY: all-zero is a valid `sigaction`; both structures live through the calls, and the
        // handler is async-signal-safe.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}
