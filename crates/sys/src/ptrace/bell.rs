//! A child that ends when it is told to, so that a thread which blocks in `wait4` can be woken.
//!
//! `wait4` has no timeout, and a signal would need a handler, which a library has no right to
//! install. A child of the waiting thread that sleeps on a pipe needs neither: one byte, it ends,
//! and the wait returns.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::pipe::PipeFlags;

use super::spawn::with_signals_blocked;
use super::{Tid, last};
use crate::error::Named;
use crate::{Call, Result};

/// The sleeping child; made, and waited for, by the thread that is to be woken.
#[derive(Debug)]
pub struct Bell {
    /// Its id, which [`super::wait`] returns once it was rung.
    pub tid: Tid,
}

/// The other end: any thread may pull it. Dropped, it rings as well.
#[derive(Debug)]
pub struct BellRope(OwnedFd);

impl Bell {
    /// Starts the child, a fork that holds every signal back and does nothing but read a pipe.
    pub fn new() -> Result<(Bell, BellRope)> {
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
        if tid < 0 { Err(last(Call::Fork)) } else { Ok((Bell { tid }, BellRope(writer))) }
    }
}

/// Closes every fd but one: the copies of a child that lives as long as the trace would keep pipes
/// open for whose end somebody else waits.
///
/// # Safety
///
/// To be called in a child between `fork` and `_exit` only.
unsafe fn close_others(kept: RawFd) {
    // As many as a process may have open by default; only for kernels before close_range (5.9).
    const MOST_FDS: RawFd = 1024;
    let kept_unsigned = libc::c_long::from(kept);
    // SAFETY: integers in, integers out; nobody uses the closed fds in this child.
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

impl BellRope {
    /// Rings. That the child has ended already is no failure.
    pub fn ring(&self) {
        let _ended = rustix::io::write(&self.0, &[1]);
    }
}
