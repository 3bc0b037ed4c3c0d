//! `sigaction` — hears being asked how far things are (`SIGUSR1`), and being interrupted:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! As in [`super::hear_stop`] the handlers only count, and blocking calls come back.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
/// A count of requests that never come.
pub static NOBODY_ASKS: AtomicU32 = AtomicU32::new(0);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn count(_signal: libc::c_int) {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

fn hear(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: all-zero is a valid `sigaction`; both structures live through the calls, and the
    // handlers only touch lock-free atomics.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut before);
        if signal == libc::SIGINT && before.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Starts to count SIGUSR1, and returns the count.
pub fn hear_asked() -> &'static AtomicU32 {
    hear(libc::SIGUSR1, count, 0);
    &ASKED
}

/// Starts to hear SIGINT, unless it was ignored, and returns the flag that it sets. A second one
/// ends the process at once.
pub fn hear_interrupt() -> &'static AtomicBool {
    hear(libc::SIGINT, note, libc::SA_RESETHAND);
    &INTERRUPTED
}
