//! `sigaction(SIGBUS)` — reads mapped bytes of a file that may be missing:
//! <https://man7.org/linux/man-pages/man2/sigaction.2.html>
//!
//! A thread that touches a page of a mapping that the file no longer has, or that its storage
//! cannot read, gets SIGBUS. While a thread watches a range, the handler replaces everything from
//! that page on with zeros and sets a flag, so that the thread continues and then learns that it
//! did not see the file's contents. A SIGBUS at any other address ends the process as by default.
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

static INSTALLED: OnceLock<()> = OnceLock::new();

extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    _context: *const libc::c_void,
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
    // Outside every watched range: the instruction runs again, and this time it ends the process.
    // SAFETY: setting a signal's default action touches no memory.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Installs a handler for SIGBUS, so that mapped files may be looked at. For programs: it replaces a handler
/// that the process has.
pub fn allow_looking() {
    INSTALLED.get_or_init(install);
}

/// Returns whether the program has allowed to look at mapped files.
#[must_use]
pub fn may_look() -> bool {
    INSTALLED.get().is_some()
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
