//! `sigaction` — handlers that collect signals for a command that this process waits for:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! A key at the terminal signals the whole foreground process group, so the command has that signal already.
//! What a process sends to this one alone is meant for the command, too.

use std::sync::atomic::{AtomicU64, Ordering};

use super::stop::handle;

/// Signals, by their numbers as bits, that a process has sent and that were not taken yet.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Signals that have arrived.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// The signals by which a process is asked for something.
const SIGNALS: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

extern "C" fn on_signal(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    _context: *const libc::c_void,
) {
    ARRIVED.fetch_or(1 << signal, Ordering::Relaxed);
    // SAFETY: with `SA_SIGINFO` the kernel passes a `siginfo_t`, valid during the handler.
    if unsafe { (*info).si_code } <= 0 {
        SENT.fetch_or(1 << signal, Ordering::Relaxed);
    }
}

/// Installs handlers for the signals by which a process is asked for something, unless they are ignored (as
/// `nohup` does). None of them ends this process any more. A command that is started has the default actions.
pub fn collect_signals() {
    handle(&SIGNALS, on_signal);
}

/// Takes the signals that processes have sent since the last call.
pub fn sent_signals() -> impl Iterator<Item = i32> {
    let sent = SENT.swap(0, Ordering::Relaxed);
    SIGNALS.into_iter().filter(move |signal| sent & (1 << signal) != 0)
}

/// Returns whether a signal has arrived.
#[must_use]
pub fn has_arrived(signal: i32) -> bool {
    u64::try_from(signal).is_ok_and(|bit| ARRIVED.load(Ordering::Relaxed) >> bit & 1 == 1)
}
