//! `fchown` — sets owner and group: <https://man7.org/linux/man-pages/man2/chown.2.html>
//!
//! The call clears setuid, setgid and file capabilities; set the mode afterwards.

use std::os::fd::AsFd;

use rustix::fs::{Gid, Uid};

use crate::error::Named;
use crate::{Call, Result};

/// Sets owner and group of an open file; `None` leaves one as it is.
pub fn fchown(fd: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
    rustix::fs::fchown(fd, uid.map(Uid::from_raw), gid.map(Gid::from_raw)).named(Call::Fchown)
}
