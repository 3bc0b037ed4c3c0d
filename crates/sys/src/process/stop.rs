//! `sigaction` — hears the signals that ask a run to end:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! The handler sets a flag and no more. It is installed *without* `SA_RESTART`, so that a call that
//! blocks on a FIFO or a device comes back and the flag is seen; the usual libraries restart.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static CODE: AtomicI32 = AtomicI32::new(0);

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kernel: a key at the terminal, or the terminal's end, of which the whole foreground
    /// process group is told.
    Kernel,
    /// A process, which told us alone, or a group.
    Process,
}

/// The signals that end a run: from the terminal, from an administrator, from a lost connection.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn hear(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    _context: *const libc::c_void,
) {
    // Only lock-free atomics are touched, which is all that signal-safety(7) allows. Whoever asks
    // twice does not want to wait for the tidying up.
    if STOP.swap(true, Ordering::Relaxed) {
        die_by(signal);
    }
    // SAFETY: with `SA_SIGINFO` the kernel hands over a `siginfo_t`, valid during the handler.
    let code = unsafe { (*info).si_code };
    CODE.store(code, Ordering::Relaxed);
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// Starts to hear SIGINT, SIGTERM and SIGHUP, unless they were ignored (as `nohup` does), and
/// returns the flag that they set. A second one ends the process at once.
pub fn hear_stop() -> &'static AtomicBool {
    for signal in SIGNALS {
        // SAFETY: all-zero is a valid `sigaction`; both structures live through the calls, and
        // the handler is async-signal-safe.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = hear as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    &STOP
}

/// Returns the signal that set the flag, if one did.
#[must_use]
pub fn stop_signal() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Returns who sent the signal that set the flag, if one did.
#[must_use]
pub fn stop_sender() -> Option<Sender> {
    stop_signal()?;
    // Positive codes are the kernel's, SI_USER and its like are not: sigaction(2).
    let is_kernel = CODE.load(Ordering::Relaxed) > 0;
    Some(if is_kernel { Sender::Kernel } else { Sender::Process })
}

/// Ends the process by a signal, as if it had never been heard, so that the parent sees the truth.
pub fn die_by(signal: i32) {
    // SAFETY: restoring the default action and sending ourselves a signal touch no memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
