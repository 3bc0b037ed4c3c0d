//! `poll` — waits for input, or for the reader of an output to go away:
//! <https://man7.org/linux/man-pages/man2/poll.2.html>
//!
//! Who copies a stream that is silent for long learns only by this that nobody wants it any more.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

use crate::error::Named;
use crate::{Call, Result};

/// What happened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// There is input, or its end.
    Input,
    /// Nobody reads the output any more.
    OutputGone,
}

/// Waits until either happens; input wins where both have. `EINTR` by a signal.
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
