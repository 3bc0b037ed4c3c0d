//! `sigaction(SIGBUS)` — reads mapped bytes of a file that may be missing:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! A thread that touches a page of a mapping that the file no longer has, or that its storage
//! cannot read, gets SIGBUS. While a thread watches a range, the handler replaces everything from
//! that page on with zeros and sets a flag, so that the thread continues and then learns that it
//! did not see the file's contents. A SIGBUS at any other address goes to the handler that the program had before, or
//! ends the process as by default.
//!
//! The handler is the process's, so only a program installs it, and a library never does.
//!
//! The handler and the code that it interrupts share atomic values, ordered by `compiler_fence`:
//! the compiler takes plain ones that no visible call changes for constants.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// The range that a thread watches, and whether a page of it was missing.
struct Watched {
    start: AtomicUsize,
    end: AtomicUsize,
    is_gone: AtomicBool,
}

thread_local! {
    // Constant and without a destructor: to the handler it is plain memory of its thread.
    static WATCHED: Watched = const {
        Watched { start: AtomicUsize::new(0), end: AtomicUsize::new(0), is_gone: AtomicBool::new(false) }
    };
}

/// The size of a page, which the handler must not query.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

/// Whether the program has allowed to install the handler, and whether it is installed.
static ALLOWED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// What the process did with SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    context: *const libc::c_void,
) {
    // SAFETY: with `SA_SIGINFO` the kernel passes a `siginfo_t`, valid during the handler, and for
    // SIGBUS it holds the address.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end) = WATCHED.with(|watched| {
        (watched.start.load(Ordering::Relaxed), watched.end.load(Ordering::Relaxed))
    });
    if (start..end).contains(&address) {
        let page =
            address / PAGE_BYTES.load(Ordering::Relaxed) * PAGE_BYTES.load(Ordering::Relaxed);
        // SAFETY: `mmap` is a bare system call, which a handler may make. The range is within the
        // mapping that this thread watches, which stays readable; only its contents change, and
        // readers treat them as plain bytes.
        let mapped = unsafe {
            libc::mmap(
                page as *mut libc::c_void,
                end - page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if mapped != libc::MAP_FAILED {
            WATCHED.with(|watched| watched.is_gone.store(true, Ordering::Relaxed));
            return;
        }
    }
    // Outside every watched range.
    if BEFORE.get().is_some_and(|before| call_before(before, (signal, info, context))) {
        return;
    }
    // The instruction runs again, and this time it ends the process.
    // SAFETY: setting a signal's default action touches no memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

type Handler = extern "C" fn(libc::c_int);
type DetailedHandler = extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void);

/// Calls the handler of an action with the arguments of a handler. Returns `false` if the action has none.
fn call_before(
    before: &libc::sigaction,
    (signal, info, context): (libc::c_int, *const libc::siginfo_t, *const libc::c_void),
) -> bool {
    let address = before.sa_sigaction;
    if address == libc::SIG_DFL || address == libc::SIG_IGN {
        return false;
    }
    let function = address as *const ();
    // SAFETY: sigaction(2) reported the address of a handler, and the flag tells which arguments it has.
    unsafe {
        if before.sa_flags & libc::SA_SIGINFO == 0 {
            std::mem::transmute::<*const (), Handler>(function)(signal);
        } else {
            std::mem::transmute::<*const (), DetailedHandler>(function)(signal, info, context);
        }
    }
    true
}

/// Allows to look at mapped files: the first look installs a handler for SIGBUS. For programs: it calls the handler that
/// the process had only for addresses outside the files.
pub fn allow_looking() {
    ALLOWED.store(true, Ordering::Relaxed);
}

/// Returns whether the program has allowed to look at mapped files.
#[must_use]
pub fn may_look() -> bool {
    ALLOWED.load(Ordering::Relaxed)
}

fn install() {
    PAGE_BYTES.store(super::mincore::page_size(), Ordering::Relaxed);
    // SAFETY: all-zero is a valid `sigaction`, the structure lives through the call, and the
    // handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        // The handler may run as soon as it is installed, so the action before is read first.
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before);
        BEFORE.get_or_init(|| before);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Calls `call` while this thread watches a range of addresses. Returns `None` if some of the range
/// was missing, or if the program has not called [`allow_looking`]; then nothing is called.
///
/// Only this thread may read the range.
pub(super) fn watching<T>(start: usize, bytes: usize, call: impl FnOnce() -> T) -> Option<T> {
    if !may_look() {
        return None;
    }
    INSTALLED.get_or_init(install);
    WATCHED.with(|watched| {
        watched.is_gone.store(false, Ordering::Relaxed);
        watched.start.store(start, Ordering::Relaxed);
        watched.end.store(start + bytes, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let answer = call();
        compiler_fence(Ordering::SeqCst);
        watched.end.store(0, Ordering::Relaxed);
        (!watched.is_gone.load(Ordering::Relaxed)).then_some(answer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_of_before_is_called_as_it_was_installed() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn plain(signal: libc::c_int) {
            CALLS.fetch_add(usize::from(signal == libc::SIGBUS), Ordering::Relaxed);
        }
        extern "C" fn detailed(
            signal: libc::c_int,
            info: *const libc::siginfo_t,
            context: *const libc::c_void,
        ) {
            let is_whole = !info.is_null() && !context.is_null();
            CALLS
                .fetch_add(10 * usize::from(signal == libc::SIGBUS && is_whole), Ordering::Relaxed);
        }
        // SAFETY: all-zero is a valid `sigaction` and a valid `siginfo_t`.
        let (mut before, info): (libc::sigaction, libc::siginfo_t) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let context = 0;
        let arguments = (libc::SIGBUS, &raw const info, (&raw const context).cast());
        for action in [libc::SIG_DFL, libc::SIG_IGN] {
            before.sa_sigaction = action;
            assert!(!call_before(&before, arguments));
        }
        before.sa_sigaction = plain as *const () as libc::sighandler_t;
        assert!(call_before(&before, arguments));
        before.sa_sigaction = detailed as *const () as libc::sighandler_t;
        before.sa_flags = libc::SA_SIGINFO;
        assert!(call_before(&before, arguments));
        assert_eq!(CALLS.load(Ordering::Relaxed), 11);
    }
}
