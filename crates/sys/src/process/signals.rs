//! `sigprocmask`, `sigwait` — waits for signals instead of being ended by them:
//! <https://man7.org/linux/man-pages/man3/sigwait.3.html>

use std::mem::MaybeUninit;

/// Signals by number that this process waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited(Vec<i32>);

fn set(numbers: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is made empty before signals are added; a number that is no signal is refused.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for number in numbers {
            libc::sigaddset(set.as_mut_ptr(), *number);
        }
        set.assume_init()
    }
}

impl Awaited {
    /// Blocks signals in this thread, and in those that it starts later, so that they wait until
    /// [`Awaited::wait`]. To be called before any other thread is started.
    #[must_use]
    pub fn block(numbers: &[i32]) -> Awaited {
        let set = set(numbers);
        // SAFETY: the set is initialised, and the old one is not asked for.
        unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
        Awaited(numbers.to_vec())
    }

    /// Waits until one of the signals comes, or takes one that has come. Blocks without a limit.
    pub fn wait(&self) {
        let set = set(&self.0);
        let mut found = 0;
        // SAFETY: both point to values of this function; sigwait(3) fails only for an invalid set.
        unsafe {
            libc::sigwait(&raw const set, &raw mut found);
        }
    }
}

/// Returns the number of a signal by its name, with or without `SIG`, or of its number.
#[must_use]
pub fn signal_number(name: &str) -> Option<i32> {
    const NAMES: &[(&str, i32)] = &[
        ("HUP", libc::SIGHUP),
        ("INT", libc::SIGINT),
        ("QUIT", libc::SIGQUIT),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
    ];
    let short = name.strip_prefix("SIG").unwrap_or(name);
    let known = NAMES.iter().find(|(known, number)| *known == short || number.to_string() == name);
    known.map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_came_before_is_taken() {
        std::thread::spawn(|| {
            let awaited = Awaited::block(&[libc::SIGUSR2]);
            // SAFETY: the thread sends itself a signal that it has blocked.
            unsafe {
                libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2);
            }
            awaited.wait();
        })
        .join()
        .unwrap();
        assert_eq!(signal_number("SIGUSR1"), Some(libc::SIGUSR1));
        assert_eq!(signal_number("nothing"), None);
    }
}
