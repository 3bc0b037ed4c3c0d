//! `poll` — waits until a descriptor can be read or written:
//! <https://man7.org/linux/man-pages/man2/poll.2.html>
//!
//! For descriptors that another process has made non-blocking: standard input and output are shared
//! with the parent process.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Named;
use crate::{Call, Result};

/// The condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Bytes to read, or the end of file.
    ToRead,
    /// Room to write, or the last reader has closed.
    ToWrite,
    /// The last reader has closed.
    ForNobody,
}

/// Waits at most this long, or without a limit, and returns whether it is ready. Fails with `EINTR`
/// on a signal.
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
