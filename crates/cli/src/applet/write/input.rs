//! Where the bytes of `write` come from: standard input, or a command that it starts.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_start::Standard;
use haul_sys::data::seek_tell;
use haul_sys::fs::{Kind, duplicate, fstat};

use super::command::{Command, Failed, Running};
use crate::standard::demand;

/// An open input.
#[derive(Debug)]
pub(super) struct Input {
    fd: OwnedFd,
    command: Option<Running>,
}

const STDIN: &str = "standard input";

impl Input {
    /// Opens standard input, or starts the command.
    pub(super) fn open(command: Option<&Command>) -> Result<Input, Failed> {
        if let Some(command) = command {
            let (running, output) = command.start()?;
            return Ok(Input { fd: output, command: Some(running) });
        }
        let opened = demand(Standard::Input).and_then(|()| duplicate(std::io::stdin()));
        match opened {
            Ok(fd) => Ok(Input { fd, command: None }),
            Err(error) => Err(Failed { text: format!("{STDIN}: {}", error.text()), code: 1 }),
        }
    }

    /// Returns its name for messages.
    pub(super) fn shown(&self) -> &str {
        self.command.as_ref().map_or(STDIN, Running::shown)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns how many bytes it still has, if it is a file.
    pub(super) fn bytes(&self) -> Option<u64> {
        let stat = fstat(&self.fd).ok().filter(|stat| stat.kind() == Kind::Regular)?;
        let left = stat.size.saturating_sub(seek_tell(&self.fd).ok()?);
        // Files that are made up when they are read have no size.
        (left > 0).then_some(left)
    }

    /// Closes it, and waits for the command, which gets SIGPIPE if it still writes.
    pub(super) fn end(self) -> Result<(), Failed> {
        // Nothing is lost if closing what was only read fails.
        drop(self.fd);
        self.command.map_or(Ok(()), Running::wait)
    }
}
