//! `wait4` — waits for a child and returns its resource usage:
//! <https://man7.org/linux/man-pages/man2/wait4.2.html>
//!
//! `waitid` and the standard library return the status alone; only the call that reaps a child
//! returns its resource usage.

use std::mem::MaybeUninit;

use rustix::io::Errno;

use crate::ptrace::Ended;
use crate::{Call, CallError, Result};

/// How a child ended, and the resource usage of it and of the children that it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildUsage {
    /// How it ended.
    pub ended: Ended,
    /// CPU time in user mode, in microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// The largest resident set of any one of the processes. Never below what the *caller* had
    /// resident when it started the child: the kernel keeps that across an `execve`.
    pub max_rss_bytes: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that required I/O.
    pub major_faults: u64,
}

/// Blocks until the child has ended, and reaps it. A signal does not interrupt the wait. Fails with
/// `ECHILD` if there is no such child, or it was already reaped.
pub fn wait4(pid: u32) -> Result<ChildUsage> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| failed(Errno::CHILD))?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the kernel writes an int and a `rusage`, and both live until the call is over.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == pid {
            break;
        }
        let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
        if code != libc::EINTR {
            return Err(failed(Errno::from_raw_os_error(code)));
        }
    }
    // SAFETY: every bit pattern is a valid `rusage`, and it was zeroed to begin with.
    let usage = unsafe { usage.assume_init() };
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signaled(libc::WTERMSIG(status))
    } else {
        Ended::Exited(libc::WEXITSTATUS(status))
    };
    Ok(ChildUsage {
        ended,
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        max_rss_bytes: count(usage.ru_maxrss).saturating_mul(1024),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    })
}

fn failed(errno: Errno) -> CallError {
    CallError::new(Call::Waitpid, errno)
}

/// Converts one of the kernel's counters, which are signed but never negative, to unsigned.
fn count(number: libc::c_long) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::zombie_processes, reason = "the call under test is what reaps it")]
    fn a_child_tells_its_status_and_its_usage_once() {
        let child = std::process::Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let usage = wait4(child.id()).unwrap();
        assert_eq!(usage.ended, Ended::Exited(3));
        assert!(usage.max_rss_bytes > 0 && usage.minor_faults > 0);
        assert_eq!(wait4(child.id()).unwrap_err().errno, Errno::CHILD);
    }
}
