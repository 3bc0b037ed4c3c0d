//! Flags that end calls.
//!
//! The thread of a call has one for as long as it works. A child of fork(2) that returns into a call has to leave it without
//! this thread, so the flag cannot belong to the stack of the call; and as the engine borrows it, it lives as long as the
//! process, and later calls use it again.

use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::sync::Mutex;

/// Flags that no call has: at most as many as there were calls at the same time.
static FREE: Mutex<Vec<&'static AtomicBool>> = Mutex::new(Vec::new());

/// Returns a flag that is not set. Where another thread has the list just now, or had it when fork(2) made this process, the
/// flag is a new one: no thread waits.
pub(crate) fn take() -> &'static AtomicBool {
    let free = FREE.try_lock().and_then(|mut free| free.pop());
    let flag = free.unwrap_or_else(|| Box::leak(Box::default()));
    flag.store(false, Ordering::Relaxed);
    flag
}

/// Gives a flag back whose call has ended, with all its threads.
pub(crate) fn give_back(flag: &'static AtomicBool) {
    if let Some(mut free) = FREE.try_lock() {
        free.push(flag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_used_again_and_is_not_set() {
        let flag = take();
        flag.store(true, Ordering::Relaxed);
        give_back(flag);
        let flags: Vec<_> = (0..3).map(|_| take()).collect();
        assert!(flags.iter().all(|flag| !flag.load(Ordering::Relaxed)));
        assert!(!std::ptr::eq(flags[0], flags[1]));
        flags.into_iter().for_each(give_back);
    }
}
