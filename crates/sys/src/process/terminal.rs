//! `ioctl(TIOCGWINSZ)` — returns the size of a terminal:
//! <https://man7.org/linux/man-pages/man2/TIOCGWINSZ.2const.html>

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::termios::tcgetwinsize;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_columns() {
        assert_eq!(terminal_columns(std::fs::File::open("/dev/null").unwrap()), None);
        assert_eq!(terminal_device(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
