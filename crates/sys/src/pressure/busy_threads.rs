//! `/proc/self/task` — which threads of this process run, or wait for storage:
//! <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>

use std::ops::ControlFlow;

use crate::fs::pseudo::text;
use crate::fs::{CWD, DirectoryBuffer, Follow, for_each_entry, open_directory};

/// More than the line of a thread has: 52 numbers.
const LINE_BYTES: usize = 2 << 10;

/// The names of some hundred threads.
const BUFFER_BYTES: usize = 8 << 10;

/// Returns how many threads of this process, besides the calling one, run, are ready to, or are in a call that
/// waits for storage (`R` and `D`); `None` if /proc does not tell. Threads of io_uring count. Reads one file for
/// each thread; does not block on I/O.
#[must_use]
pub fn busy_threads() -> Option<usize> {
    let own = rustix::thread::gettid().as_raw_nonzero().get().to_string();
    let directory = open_directory(CWD, c"/proc/self/task", Follow::Yes).ok()?;
    let mut buffer = DirectoryBuffer::new(BUFFER_BYTES);
    let mut count = 0;
    loop {
        let goes_on = for_each_entry(&directory, &mut buffer, |entry| {
            let name = entry.name.to_string_lossy();
            // A thread that has ended meanwhile is not busy.
            count += usize::from(name != own && is_busy(&name).unwrap_or(false));
            ControlFlow::Continue(())
        });
        if !goes_on.ok()? {
            return Some(count);
        }
    }
}

fn is_busy(thread: &str) -> Option<bool> {
    let line = text(&format!("/proc/self/task/{thread}/stat"), LINE_BYTES)?;
    // The name, which may have any character, is in parentheses.
    let state = line.rsplit_once(") ")?.1.chars().next()?;
    Some(matches!(state, 'R' | 'D'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_thread_that_spins_is_busy() {
        let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                begun.store(true, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            while !begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let busy = busy_threads();
            stop.store(true, Ordering::Relaxed);
            assert!(busy.is_none_or(|count| count >= 1), "{busy:?}");
        });
    }
}
