//! A child that exits on request, which wakes a thread that blocks in `wait4`.
//!
//! `wait4` has no timeout, and a signal would need a handler, which a library should not install. A
//! child of the waiting thread that reads from a pipe needs neither: after one byte it exits, and
//! the wait returns.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::pipe::PipeFlags;

use super::{Tid, last};
use crate::error::Named;
use crate::{Call, Result, with_signals_blocked};

/// The sleeping child. The thread to be woken creates it and waits for it.
#[derive(Debug)]
pub struct WakeChild {
    /// Id of the child; [`super::wait`] returns it after [`Waker::wake`].
    pub tid: Tid,
}

/// The writing end of the pipe; any thread may use it. Dropping it wakes the waiter as well.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl WakeChild {
    /// Starts the child, a fork that blocks every signal and only reads from a pipe.
    pub fn new() -> Result<(WakeChild, Waker)> {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).named(Call::Pipe)?;
        let reader_raw = reader.as_raw_fd();
        // SAFETY: the child makes only raw system calls and _exit, which are async-signal-safe.
        let tid = with_signals_blocked(|| unsafe {
            let tid = libc::fork();
            if tid == 0 {
                close_others(reader_raw);
                let mut byte = 0_u8;
                libc::read(reader_raw, (&raw mut byte).cast(), 1);
                libc::_exit(0);
            }
            tid
        });
        if tid < 0 { Err(last(Call::Fork)) } else { Ok((WakeChild { tid }, Waker(writer))) }
    }
}

/// Closes every fd but one. The child lives as long as the trace; its copies of other pipes would
/// keep readers of those pipes from seeing the end of file.
///
/// # Safety
///
/// Must be called in a child between `fork` and `_exit` only.
unsafe fn close_others(kept: RawFd) {
    // As many as a process may have open by default; only for kernels before close_range (5.9).
    const MOST_FDS: RawFd = 1024;
    let kept_unsigned = libc::c_long::from(kept);
    // SAFETY: the calls take and return integers; this child does not use the closed fds.
    unsafe {
        let above = libc::syscall(libc::SYS_close_range, kept_unsigned + 1, u32::MAX, 0);
        if kept > 0 {
            libc::syscall(libc::SYS_close_range, 0, kept_unsigned - 1, 0);
        }
        if above < 0 {
            for fd in (0..MOST_FDS).filter(|fd| *fd != kept) {
                libc::close(fd);
            }
        }
    }
}

impl Waker {
    /// Wakes the waiter. A child that has already exited is not an error.
    pub fn wake(&self) {
        let _ended = rustix::io::write(&self.0, &[1]);
    }
}
