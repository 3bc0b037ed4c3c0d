//! `poll` — waits until a descriptor can be read or written:
//! <https://man7.org/linux/man-pages/man2/poll.2.html>
//!
//! For descriptors that somebody else has made non-blocking: standard input and output are shared
//! with whoever started us.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Named;
use crate::{Call, Result};

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Bytes to read, or the end.
    ToRead,
    /// Room to write, or nobody who reads.
    ToWrite,
    /// Nobody who reads any more.
    ForNobody,
}

/// Waits at most this long, or without end; tells whether it is ready. `EINTR` by a signal.
pub fn wait_until(fd: impl AsFd, ready: Ready, most: Option<Duration>) -> Result<bool> {
    let flags = match ready {
        Ready::ToRead => PollFlags::IN,
        Ready::ToWrite => PollFlags::OUT,
        Ready::ForNobody => PollFlags::empty(),
    };
    let most = most.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let fd = fd.as_fd();
    let count = poll(&mut [PollFd::new(&fd, flags)], most.as_ref()).named(Call::Poll)?;
    Ok(count > 0)
}
