//! Standard input and output, where data comes from or goes to them.
//!
//! What stands in for a closed one refuses to be read or written (`haul_start::was_closed`). The
//! standard library's own reader takes that refusal for the end of the data, so data is not read
//! through it; and an applet that changes a file checks first.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use haul_start::{Standard, was_closed};
use haul_sys::Errno;
use haul_sys::data::{seek_end, seek_tell};
use haul_sys::fs::{CWD, Kind, Stat, appends, fstat, statat_follow};

/// Fails where the descriptor was closed when the process began.
pub(crate) fn demand(which: Standard) -> haul_sys::Result<()> {
    if was_closed(which) {
        return Err(haul_sys::CallError::new(haul_sys::Call::Fcntl, Errno::BADF));
    }
    Ok(())
}

/// Returns standard input as a file that reports every failure.
pub(crate) fn input() -> io::Result<File> {
    demand(Standard::Input).map_err(|error| io::Error::from(error.errno))?;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Opens the file of this name for reading; `-` is standard input.
pub(crate) fn opened(name: &[u8]) -> io::Result<File> {
    if name == b"-" { input() } else { File::open(Path::new(OsStr::from_bytes(name))) }
}

/// Fails where what is written to standard output would be read again, without end.
pub(crate) fn refuse_own_output(source: BorrowedFd<'_>) -> Result<(), String> {
    let stdout = io::stdout();
    // What cannot be described is no file that grows.
    let (Ok(from), Ok(to)) = (fstat(source), fstat(&stdout)) else { return Ok(()) };
    if feeds_on_itself((source, &from), (stdout.as_fd(), &to)) {
        return Err("input file is output file".to_owned());
    }
    Ok(())
}

/// Returns whether a name leads to a file that was described.
pub(crate) fn leads_to(name: &OsStr, file: &Stat) -> bool {
    // The kernel hands no argument with a NUL to a program.
    let name = CString::new(name.as_bytes()).unwrap_or_default();
    statat_follow(CWD, &name).is_ok_and(|found| found.same_file(file))
}

/// Returns whether what is written would be read again, without end.
pub(crate) fn feeds_on_itself(
    (source, from): (BorrowedFd<'_>, &Stat),
    (target, to): (BorrowedFd<'_>, &Stat),
) -> bool {
    if matches!(from.kind(), Kind::Fifo | Kind::Socket) || !from.same_file(to) {
        return false;
    }
    let Ok(at) = seek_tell(source) else { return false };
    let end =
        if appends(target).unwrap_or(false) { seek_end(target, 0) } else { seek_tell(target) };
    end.is_ok_and(|end| at < end)
}
