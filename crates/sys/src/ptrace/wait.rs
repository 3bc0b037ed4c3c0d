//! `wait4` — waits for children and tracees of the calling thread:
//! <https://man7.org/linux/man-pages/man2/wait4.2.html>, <https://man7.org/linux/man-pages/man2/waitpid.2.html>
//!
//! `__WNOTHREAD` keeps a tracer from reaping the children of other threads of the same program.

use std::mem::MaybeUninit;

use super::{Tid, last};
use crate::{Call, Result};

/// Selects the children to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Any child or tracee of this thread; blocks.
    Any,
    /// One child; blocks.
    One(Tid),
    /// One child; returns at once if it has not changed.
    Poll(Tid),
}

/// The events that `PTRACE_O_TRACE…` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A fork, vfork or clone; the message is the new thread's id.
    Clone,
    /// A successful `execve`; the message is the caller's former thread id.
    Exec,
    /// The thread is about to end.
    Exit,
    /// A group stop, the stop after `PTRACE_INTERRUPT`, or a new thread's first stop.
    Stop,
    /// Any other event.
    Other(i32),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Signaled(i32),
}

/// How a child or tracee changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It ended.
    Ended(Ended),
    /// It entered or left a system call.
    Call,
    /// An event, with the signal that the stop carries.
    Event(Event, i32),
    /// It is about to receive a signal.
    Signal(i32),
    /// It was continued.
    Continued,
}

/// A change of state, and the resources that the process used if it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Id of the thread that changed.
    pub tid: Tid,
    /// The new state.
    pub change: Change,
    /// CPU time in user mode, in microseconds, of the process and of the children that it waited
    /// for.
    pub user_us: u64,
    /// CPU time in the kernel, likewise.
    pub system_us: u64,
}

/// Waits for a change. Returns `None` if [`Wait::Poll`] finds none.
///
/// A signal does not interrupt the wait. Fails with `ECHILD` if there is nothing to wait for.
pub fn wait(target: Wait) -> Result<Option<Waited>> {
    let (pid, flags) = match target {
        Wait::Any => (-1, 0),
        Wait::One(tid) => (tid, 0),
        Wait::Poll(tid) => (tid, libc::WNOHANG),
    };
    let flags = flags | libc::__WALL | libc::__WNOTHREAD;
    loop {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel writes an int and a `rusage`, and both live until the call is over.
        let tid = unsafe { libc::wait4(pid, &raw mut status, flags, usage.as_mut_ptr()) };
        if tid == 0 {
            return Ok(None);
        }
        if tid > 0 {
            // SAFETY: every bit pattern is a valid `rusage`, and it was zeroed to begin with.
            let usage = unsafe { usage.assume_init() };
            return Ok(Some(Waited {
                tid,
                change: change(status),
                user_us: microseconds(usage.ru_utime),
                system_us: microseconds(usage.ru_stime),
            }));
        }
        let error = last(Call::Waitpid);
        if error.errno != rustix::io::Errno::INTR {
            return Err(error);
        }
    }
}

/// Decodes a wait status.
fn change(status: i32) -> Change {
    if libc::WIFEXITED(status) {
        return Change::Ended(Ended::Exited(libc::WEXITSTATUS(status)));
    }
    if libc::WIFSIGNALED(status) {
        return Change::Ended(Ended::Signaled(libc::WTERMSIG(status)));
    }
    if !libc::WIFSTOPPED(status) {
        return Change::Continued;
    }
    let signal = libc::WSTOPSIG(status);
    let event = match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => return Change::Call,
        0 => return Change::Signal(signal),
        libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
            Event::Clone
        }
        libc::PTRACE_EVENT_EXEC => Event::Exec,
        libc::PTRACE_EVENT_EXIT => Event::Exit,
        libc::PTRACE_EVENT_STOP => Event::Stop,
        other => Event::Other(other),
    };
    Change::Event(event, signal)
}

/// Converts a `timeval` to microseconds.
fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}
