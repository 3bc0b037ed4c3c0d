//! `fcntl(F_DUPFD_CLOEXEC)` — another descriptor of the same open file:
//! <https://man7.org/linux/man-pages/man2/fcntl.2.html>

use std::os::fd::{AsFd, OwnedFd};

use crate::error::Named;
use crate::{Call, Result};

/// Returns another descriptor of an open file, above standard input, output and error.
pub fn duplicate(fd: impl AsFd) -> Result<OwnedFd> {
    rustix::io::fcntl_dupfd_cloexec(fd, 3).named(Call::Dup)
}
