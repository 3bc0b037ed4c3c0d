//! `sigaction` — handlers for the signals that ask a run to end:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! The handler sets a flag and no more. It is installed *without* `SA_RESTART`, so that a call that
//! blocks on a FIFO or a device returns and the caller sees the flag; the usual libraries restart.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static CODE: AtomicI32 = AtomicI32::new(0);

/// When the first signal arrived, in milliseconds of the monotonic clock.
static WHEN: AtomicI64 = AtomicI64::new(0);

/// A signal within this time of the first one is the same request: timeout(1) signals its child and
/// then the child's group, and a service manager sends `SIGHUP` right after `SIGTERM`. A user does
/// not press a key twice so fast.
const SAME_REQUEST_MS: i64 = 200;

/// Sender of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kernel: a key at the terminal, or a hangup of the terminal. The whole foreground process
    /// group receives it.
    Kernel,
    /// A process, which signalled this process alone, or a group.
    Process,
}

/// The signals that end a run: from the terminal, from an administrator, from a lost connection.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn on_signal(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    _context: *const libc::c_void,
) {
    // The handler touches only lock-free atomics and reads the clock, which signal-safety(7)
    // allows. A second request means that the user does not want to wait for the cleanup.
    if STOP.swap(true, Ordering::Relaxed) {
        // Until the time is stored, use the current time.
        let first = WHEN.load(Ordering::Relaxed);
        if first != 0 && now_ms() - first > SAME_REQUEST_MS {
            die_by(signal);
        }
        return;
    }
    WHEN.store(now_ms(), Ordering::Relaxed);
    // SAFETY: with `SA_SIGINFO` the kernel passes a `siginfo_t`, valid during the handler.
    let code = unsafe { (*info).si_code };
    CODE.store(code, Ordering::Relaxed);
    SIGNAL.store(signal, Ordering::Relaxed);
}

fn now_ms() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives through the call, which may be made in a handler.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
    }
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

/// Installs handlers for SIGINT, SIGTERM and SIGHUP, unless they were ignored (as `nohup` does),
/// and returns the flag that they set. A second, later signal ends the process at once.
pub fn hear_stop() -> &'static AtomicBool {
    handle(&SIGNALS, on_signal);
    &STOP
}

/// Does the same, and takes SIGUSR1 as such a request, too: schedulers send it before the end of an
/// allocation.
pub fn hear_stop_of_job() -> &'static AtomicBool {
    handle(&[libc::SIGUSR1], on_signal);
    hear_stop()
}

/// Gives the signals that [`hear_stop`] handles their default action again: they end the process at once.
pub fn end_hearing() {
    for signal in SIGNALS {
        // SAFETY: all-zero is a valid `sigaction`, whose action is the default one; both structures live
        // through the calls.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == on_signal as *const () as libc::sighandler_t {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            }
        }
    }
}

/// A handler that receives the sender of the signal, too.
pub(super) type Handler = extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void);

/// Installs a handler for signals, unless they are ignored. It must be async-signal-safe.
pub(super) fn handle(signals: &[libc::c_int], handler: Handler) {
    for signal in signals.iter().copied() {
        // SAFETY: all-zero is a valid `sigaction`; both structures live through the calls, and
        // the handler is async-signal-safe.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Returns the signal that set the flag, if one did.
#[must_use]
pub fn stop_signal() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Returns the sender of the signal that set the flag, if one did.
#[must_use]
pub fn stop_sender() -> Option<Sender> {
    stop_signal()?;
    // Positive codes are the kernel's, SI_USER and similar codes are not: sigaction(2).
    let is_kernel = CODE.load(Ordering::Relaxed) > 0;
    Some(if is_kernel { Sender::Kernel } else { Sender::Process })
}

/// Ends the process by a signal, as if it had no handler, so that the parent sees the signal as the
/// cause.
pub fn die_by(signal: i32) {
    // SAFETY: restoring the default action and raising a signal touch no memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
