//! `ptrace(PTRACE_INTERRUPT)` — asks a seized thread to stop:
//! <https://man7.org/linux/man-pages/man2/ptrace.2.html>

use super::{Tid, checked};
use crate::{Call, Result};

/// Asks `tid` to stop; the stop arrives through [`super::wait`].
pub fn interrupt(tid: Tid) -> Result<()> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_INTERRUPT takes neither address nor data.
    checked(Call::Ptrace, unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid, none, none) })
        .map(drop)
}
