//! `/proc/thread-self/status` — which permission bits new files lose, without a change of the mask:
//! <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>
//!
//! umask(2) returns the mask only by setting it, for all threads that share it. Another thread that creates a file at
//! that moment would give it the wrong bits, so where the kernel does not report the mask, a thread with a mask of
//! its own reads it.

use rustix::fs::Mode;
use rustix::thread::UnshareFlags;

use super::pseudo::text;
use crate::with_signals_blocked;

/// The mask that is assumed where the thread's own can be read in no way: no file gets more bits than it should.
const UNKNOWN: u32 = 0o077;

/// Stack of the thread that makes two calls.
const STACK_BYTES: usize = 64 << 10;

/// Returns this thread's umask without changing it: the kernel reports it in `/proc/thread-self/status`
/// (Linux 4.7). Any thread may call it at any time. A thread shares its mask with the process unless one of them has
/// called unshare(2). Where there is no `/proc`, starts a thread, which ends before the function returns; if that is
/// not permitted either, returns 077.
#[must_use]
pub fn current_umask() -> u32 {
    let reported = text("/proc/thread-self/status", STATUS_BYTES).and_then(|text| field(&text));
    reported.or_else(of_a_copy).unwrap_or(UNKNOWN)
}

/// Reads the mask of a thread that has a copy of this thread's mask. Returns `None` if there can be no such thread.
fn of_a_copy() -> Option<u32> {
    let read = || {
        // SAFETY: only unsharing the descriptor table could break assumptions of other threads.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.ok()?;
        // This thread's alone from here on.
        Some(rustix::process::umask(Mode::from_raw_mode(UNKNOWN)).as_raw_mode())
    };
    // No handler of the program may run in the thread.
    let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
    let started = with_signals_blocked(|| builder.spawn(read));
    started.ok()?.join().ok()?
}

/// More than the kernel prints up to the second line, which has the umask; the first is the command's name,
/// with each of its 16 bytes escaped.
const STATUS_BYTES: usize = 256;

fn field(status: &str) -> Option<u32> {
    let value = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(value.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_the_mask() {
        assert_eq!(field("Name:\tcat\nUmask:\t0027\nState:\tR\n"), Some(0o027));
        assert_eq!(field("Name:\tcat\nState:\tR\n"), None);
    }

    #[test]
    fn the_mask_of_a_thread_is_read_with_and_without_proc_and_no_other_thread_sees_a_change() {
        let before = current_umask();
        let masks = || {
            // SAFETY: only unsharing the descriptor table could break assumptions of other threads.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.unwrap();
            rustix::process::umask(Mode::from_raw_mode(0o127));
            [Some(current_umask()), of_a_copy(), Some(current_umask())]
        };
        assert_eq!(std::thread::spawn(masks).join().unwrap(), [Some(0o127); 3]);
        assert_eq!([Some(current_umask()), of_a_copy()], [Some(before); 2]);
    }
}
