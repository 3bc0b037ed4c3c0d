//! `pidfd_open` — a descriptor that becomes readable when a process ends:
//! <https://man7.org/linux/man-pages/man2/pidfd_open.2.html>

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::Named;
use crate::{Call, Errno, Result};

/// Opens a child of this process that was not waited for yet. Fails with `ENOSYS` before Linux 5.3.
pub fn open_child(child: u32) -> Result<OwnedFd> {
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH);
    pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())).named(Call::PidfdOpen)
}
