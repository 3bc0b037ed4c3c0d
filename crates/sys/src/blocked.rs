//! `pthread_sigmask` — calls a function with every signal blocked:
//! <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>

/// Calls a function with every signal blocked in this thread, and returns what it returns, with its errno. Threads and
/// children that it starts have all signals blocked, until they change that: no handler of the caller's runs in
/// them.
pub fn with_signals_blocked<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: sigset_t is plain data that sigfillset and pthread_sigmask fill in; the mask of before is put
    // back when the guard is dropped, in this thread or in a child.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = Before(std::mem::zeroed::<libc::sigset_t>());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before.0);
        call()
    }
}

/// The mask that a thread had; put back also if the function panics.
struct Before(libc::sigset_t);

impl Drop for Before {
    fn drop(&mut self) {
        // SAFETY: the mask was filled in by pthread_sigmask, and the errno belongs to this thread. Setting a
        // mask that was set before cannot fail.
        unsafe {
            let errno = *libc::__errno_location();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
            *libc::__errno_location() = errno;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals that are blocked in this thread, as the kernel reports them.
    fn blocked() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim().to_owned()
    }

    #[test]
    fn a_thread_that_is_started_has_all_signals_blocked_and_this_one_afterwards_none_more() {
        let before = blocked();
        let started = with_signals_blocked(|| std::thread::spawn(blocked));
        // All but SIGKILL, SIGSTOP, and the two that the C library keeps for itself.
        assert_eq!(started.join().unwrap(), "fffffffe7ffbfeff");
        assert_eq!(blocked(), before);
        let panicking = || with_signals_blocked(|| panic!("a bug"));
        assert!(std::panic::catch_unwind(panicking).is_err());
        assert_eq!(blocked(), before);
    }
}
