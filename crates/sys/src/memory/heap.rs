//! `malloc` — the heap of the process, which ends it with a message where there is no more memory:
//! <https://man7.org/linux/man-pages/man3/malloc.3.html>
//!
//! The standard library aborts there, with a core dump and without the name of the command.
//!
//! musl's `malloc` has one lock for all threads, which creating an archive of small files waits for: a static program
//! has the heap of mimalloc instead: <https://microsoft.github.io/mimalloc/>. docs/packages.md has the figures.

#[cfg(not(target_env = "musl"))]
use std::alloc::System as Below;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicPtr, Ordering};

#[cfg(target_env = "musl")]
use mimalloc::MiMalloc as Below;

/// The heap of the C library, or of mimalloc with musl.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

/// What is written, and the exit status; null before anything was said. Never freed, because another thread may
/// be about to read it.
static LAST: AtomicPtr<(String, i32)> = AtomicPtr::new(std::ptr::null_mut());

/// Says what is written on standard error, and with which status the process ends, if memory cannot be allocated.
/// The last call counts; what was given before is not freed.
pub fn end_without_memory(words: String, status: i32) {
    LAST.store(Box::leak(Box::new((words, status))), Ordering::Release);
}

/// Ends the process. Allocates nothing.
fn end() -> ! {
    let last = LAST.load(Ordering::Acquire);
    let (words, status) = match last.is_null() {
        true => ("haul: memory exhausted\n", 1),
        // SAFETY: the pointer is that of a value that is never freed or changed.
        false => unsafe { ((*last).0.as_str(), (*last).1) },
    };
    // SAFETY: the bytes live through the call. There is nowhere to tell that it failed.
    let _nowhere_to_tell = unsafe { libc::write(2, words.as_ptr().cast(), words.len()) };
    // SAFETY: no handler runs that could use what is half done.
    unsafe { libc::_exit(status) }
}

/// Returns memory, or ends the process.
fn demand(memory: *mut u8) -> *mut u8 {
    if memory.is_null() { end() } else { memory }
}

// SAFETY: each call is passed on as it is, and what comes back is not changed.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the other heap.
        demand(unsafe { Below.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        demand(unsafe { Below.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        demand(unsafe { Below.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { Below.dealloc(memory, layout) }
    }
}
