//! `ptrace(PTRACE_GET_SYSCALL_INFO)` — which call a tracee is in, the same on every architecture
//! (Linux 5.3): <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use std::mem::{MaybeUninit, size_of};

use super::{Tid, checked};
use crate::{Call, Result};

/// Kind of a system-call stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallStop {
    /// The call begins: its number and arguments.
    Enter {
        /// The number in the table of the tracee's architecture.
        number: u64,
        /// The six argument registers.
        arguments: [u64; 6],
    },
    /// The call returns.
    Exit {
        /// The value, or the negated errno.
        value: i64,
    },
    /// Not a system-call stop.
    Other,
}

/// Returns the kind of the current stop of `tid`.
pub fn syscall_info(tid: Tid) -> Result<SyscallStop> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes to `info`, which has that many.
    let answer =
        unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, info.as_mut_ptr()) };
    checked(Call::Ptrace, answer)?;
    // SAFETY: every bit pattern is a valid `ptrace_syscall_info`, and it was zeroed to begin with.
    let info = unsafe { info.assume_init() };
    Ok(match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY | libc::PTRACE_SYSCALL_INFO_SECCOMP => {
            // SAFETY: `op` says that the kernel filled `entry`, plain integers in any case.
            let entry = unsafe { info.u.entry };
            SyscallStop::Enter { number: entry.nr, arguments: entry.args }
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: `op` says that the kernel filled `exit`, plain integers in any case.
            let exit = unsafe { info.u.exit };
            SyscallStop::Exit { value: exit.sval }
        }
        _ => SyscallStop::Other,
    })
}
