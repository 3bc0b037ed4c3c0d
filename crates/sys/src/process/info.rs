//! `sigaction` — handlers for status requests (`SIGUSR1`) and for interrupts:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! As in [`super::hear_stop`] the handlers only count, and blocking calls return.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
/// A count of requests that stays 0.
pub static NOBODY_ASKS: AtomicU32 = AtomicU32::new(0);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn count(_signal: libc::c_int) {
    ASKED.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

fn install(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
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

/// Installs a handler that counts SIGUSR1, and returns the count.
pub fn hear_asked() -> &'static AtomicU32 {
    install(libc::SIGUSR1, count, 0);
    &ASKED
}

/// Installs a handler for SIGINT unless it was ignored, and returns the flag that it sets. A second
/// SIGINT ends the process at once.
pub fn hear_interrupt() -> &'static AtomicBool {
    install(libc::SIGINT, note, libc::SA_RESETHAND);
    &INTERRUPTED
}
