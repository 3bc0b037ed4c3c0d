//! `ptrace(PTRACE_SYSCALL | PTRACE_LISTEN)` — resumes a stopped tracee:
//! <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use super::{Tid, checked};
use crate::{Call, Result};

/// How far a stopped tracee runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// To its next system call or the end of the current one; delivers a signal unless it is 0.
    ToCall(i32),
    /// Not at all: it stays in its group stop (`SIGSTOP`, `SIGTSTP`) until it is continued.
    Listen,
}

/// Resumes the stopped `tid`; `ESRCH` means that it was killed.
pub fn resume(tid: Tid, how: Resume) -> Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    let (request, signal) = match how {
        Resume::ToCall(signal) => (libc::PTRACE_SYSCALL, signal),
        Resume::Listen => (libc::PTRACE_LISTEN, 0),
    };
    // SAFETY: both requests ignore the address and take the signal by value.
    checked(Call::Ptrace, unsafe { libc::ptrace(request, tid, none, signal) }).map(drop)
}
