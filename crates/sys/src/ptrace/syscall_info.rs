//! `ptrace(PTRACE_GET_SYSCALL_INFO)` — which call a tracee is in, the same on every architecture
//! (Linux 5.3): <https://man7.org/linux/man-pages/man2/ptrace.2.html>

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

// `linux/ptrace.h`; the crate libc has these for glibc alone.
const GET_SYSCALL_INFO: u32 = 0x420e;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
const SECCOMP: u8 = 3;

/// `struct ptrace_syscall_info` of `linux/ptrace.h`.
#[repr(C)]
#[derive(Default)]
struct Info {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// The number and the arguments of a call that begins, or the value of one that returns.
    words: [u64; 8],
}

/// Returns the kind of the current stop of `tid`.
pub fn syscall_info(tid: Tid) -> Result<SyscallStop> {
    let mut info = Info::default();
    let size = size_of::<Info>();
    // SAFETY: the kernel writes at most `size` bytes to `info`, which has that many, all integers.
    let answer =
        unsafe { libc::ptrace(GET_SYSCALL_INFO as _, tid, size, std::ptr::from_mut(&mut info)) };
    checked(Call::Ptrace, answer)?;
    let [first, a, b, c, d, e, f, _] = info.words;
    Ok(match info.op {
        ENTRY | SECCOMP => SyscallStop::Enter { number: first, arguments: [a, b, c, d, e, f] },
        EXIT => SyscallStop::Exit { value: first.cast_signed() },
        _ => SyscallStop::Other,
    })
}
