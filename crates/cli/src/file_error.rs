//! Errors of files that the command line itself reads and writes: their text, and those that a file
//! system reports only when a file is closed.

use std::io;
use std::os::fd::AsFd;

use haul_sys::fs::duplicate;
use haul_sys::{Errno, errno_text};

/// Returns the error that a file system reports only when a file is closed: NFS, FUSE and quotas
/// report failed writes there.
///
/// The last descriptor of an open file is not special: the kernel asks the file system at each
/// close, see close(2). So a duplicate is closed, and the owner keeps its own.
pub(crate) fn close_error(file: impl AsFd) -> haul_sys::Result<()> {
    haul_sys::fs::close(duplicate(file)?)
}

/// Returns the C library's text of an error.
pub(crate) fn describe(error: &io::Error) -> String {
    haul_sys::Errno::from_io_error(error).map_or_else(|| error.to_string(), haul_sys::errno_text)
}

/// Returns why a file that was set aside for the instant of a last look does not have its own name.
pub(crate) fn not_given_back(errno: Errno) -> String {
    match errno {
        Errno::EXIST => "its name was taken".to_owned(),
        errno => format!("it could not get its name back ({})", errno_text(errno)),
    }
}
