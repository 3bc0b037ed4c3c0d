//! `ioctl(TIOCGWINSZ)` — returns the size of a terminal:
//! <https://man7.org/linux/man-pages/man2/TIOCGWINSZ.2const.html>

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::termios::{tcgetpgrp, tcgetwinsize};

/// Returns how many columns a terminal has; `None` if it does not say, or is no terminal.
#[must_use]
pub fn terminal_columns(fd: impl AsFd) -> Option<u16> {
    // Whatever the error is, the number is not known.
    tcgetwinsize(fd).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Returns the device number of a terminal, also where it was opened as `/dev/tty`; `None` if it is no
/// terminal. See `TIOCGDEV` in ioctl_tty(2).
#[must_use]
pub fn terminal_device(fd: impl AsFd) -> Option<u32> {
    let mut device: libc::c_uint = 0;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the kernel writes one unsigned number to `device`, which lives until the call is over.
    let answer = unsafe { libc::ioctl(fd, libc::TIOCGDEV, &raw mut device) };
    (answer == 0).then_some(device)
}

/// Returns whether this process may draw on a terminal: `false` if its process group is in the background of it, see
/// tcgetpgrp(3). `true` also where the kernel does not say: on a terminal that is not the controlling one.
#[must_use]
pub fn is_in_foreground(fd: impl AsFd) -> bool {
    tcgetpgrp(fd).map_or(true, |foreground| foreground == rustix::process::getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_columns() {
        assert_eq!(terminal_columns(std::fs::File::open("/dev/null").unwrap()), None);
        assert!(is_in_foreground(std::fs::File::open("/dev/null").unwrap()));
        assert_eq!(terminal_device(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
