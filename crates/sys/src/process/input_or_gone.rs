//! `poll` — waits for input, or until the last reader of an output closes it:
//! <https://man7.org/linux/man-pages/man2/poll.2.html>
//!
//! A program that copies a stream without data for a long time learns only from this call that its
//! reader has gone.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

use crate::error::Named;
use crate::{Call, Result};

/// The event that happened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Input is available, or has ended.
    Input,
    /// The last reader of the output has closed it.
    OutputGone,
}

/// Waits for either event; input takes precedence if both have happened. Fails with `EINTR` on a
/// signal.
pub fn input_or_gone(input: impl AsFd, output: impl AsFd) -> Result<Happened> {
    let (input, output) = (input.as_fd(), output.as_fd());
    let mut both = [PollFd::new(&input, PollFlags::IN), PollFd::new(&output, PollFlags::empty())];
    loop {
        poll(&mut both, None).named(Call::Poll)?;
        let [input, output] = &both;
        if !input.revents().is_empty() {
            return Ok(Happened::Input);
        }
        if !output.revents().is_empty() {
            return Ok(Happened::OutputGone);
        }
    }
}
