//! `ptrace(PTRACE_DETACH)` — detaches from a stopped tracee:
//! <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use super::{Tid, checked};
use crate::{Call, Result};

/// Detaches from the stopped `tid`, which continues untraced, and delivers `signal` unless it is 0.
pub fn detach(tid: Tid, signal: i32) -> Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_DETACH ignores the address and takes the signal by value.
    checked(Call::Ptrace, unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, none, signal) }).map(drop)
}
