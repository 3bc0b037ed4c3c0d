//! `ptrace(PTRACE_SEIZE)` — becomes the tracer of a thread without stopping it:
//! <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use super::{Tid, checked};
use crate::{Call, Result};

/// Selects whether the children of the tracee are traced as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Forks, vforks and clones are traced from their first instruction.
    Children,
    /// Only the thread itself.
    Nothing,
}

/// Seizes `tid`; execs and exits become events, system-call stops are distinguishable from signals.
///
/// Fails with `EPERM` if the tracee belongs to another user, is already traced, or a security
/// module forbids it, and with `ESRCH` if it no longer exists.
pub fn seize(tid: Tid, follow: Follow) -> Result<()> {
    let mut options =
        libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACEEXIT;
    if follow == Follow::Children {
        options |= libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;
    }
    // SAFETY: PTRACE_SEIZE takes the options by value and touches no memory of ours.
    let answer = unsafe {
        libc::ptrace(libc::PTRACE_SEIZE, tid, std::ptr::null_mut::<libc::c_void>(), options)
    };
    checked(Call::Ptrace, answer).map(drop)
}
