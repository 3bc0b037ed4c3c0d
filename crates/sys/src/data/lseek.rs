//! `lseek` — finds data and holes, and sets the position that `read` and `write` use:
//! <https://man7.org/linux/man-pages/man2/lseek.2.html>

use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, seek};

use crate::error::Named;
use crate::{Call, Result};

/// Returns the start of the first data at or after `offset`; `ENXIO` when there is none.
///
/// File systems may report holes as data, and some report compressed or stale data as holes.
pub fn seek_data(fd: impl AsFd, offset: u64) -> Result<u64> {
    seek(fd, SeekFrom::Data(offset)).named(Call::Lseek)
}

/// Returns the start of the first hole at or after `offset`; the end of the file counts as one.
pub fn seek_hole(fd: impl AsFd, offset: u64) -> Result<u64> {
    seek(fd, SeekFrom::Hole(offset)).named(Call::Lseek)
}

/// Sets the position of the open file description; `ESPIPE` for pipes and sockets.
pub fn seek_set(fd: impl AsFd, offset: u64) -> Result<u64> {
    seek(fd, SeekFrom::Start(offset)).named(Call::Lseek)
}

/// Returns the position of the open file description; `ESPIPE` for pipes and sockets.
pub fn seek_tell(fd: impl AsFd) -> Result<u64> {
    seek(fd, SeekFrom::Current(0)).named(Call::Lseek)
}

/// Sets the position relative to the end, and returns it.
pub fn seek_end(fd: impl AsFd, offset: i64) -> Result<u64> {
    seek(fd, SeekFrom::End(offset)).named(Call::Lseek)
}
