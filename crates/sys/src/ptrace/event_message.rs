//! `ptrace(PTRACE_GETEVENTMSG)` — returns the detail of an event stop:
//! <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use super::{Tid, checked};
use crate::{Call, Result};

/// Returns the new thread's id (fork, clone), the former id (exec) or the wait status (exit).
pub fn event_message(tid: Tid) -> Result<u64> {
    let mut message: libc::c_ulong = 0;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one unsigned long to `message`, which lives until the call is over.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, none, &raw mut message) };
    checked(Call::Ptrace, answer)?;
    Ok(message)
}
