//! `kill` — sends a signal to a process: <https://man7.org/linux/man-pages/man2/kill.2.html>

use rustix::process::{Pid, Signal, kill_process};

use crate::error::Named;
use crate::{Call, Errno, Result};

/// Sends a signal to a child of this process that was not waited for yet: until then its number
/// belongs to no other process. Fails with `EINVAL` for a number that is no signal.
pub fn kill(child: u32, signal: i32) -> Result<()> {
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH);
    let signal = Signal::from_named_raw(signal).ok_or(Errno::INVAL);
    let send = || kill_process(pid?, signal?);
    send().named(Call::Kill)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn a_child_gets_the_signal() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(kill(child.id(), 12345).unwrap_err().errno, Errno::INVAL);
        kill(child.id(), libc::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
