//! `splice` — moves pages between a file and a pipe:
//! <https://man7.org/linux/man-pages/man2/splice.2.html>

use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with};

use crate::error::Named;
use crate::{Call, Result};

/// Creates a pipe with a capacity of `bytes` if the kernel allows that, and returns its reading end
/// first.
///
/// The kernel limits the capacity for ordinary users (`/proc/sys/fs/pipe-max-size`, and a total of
/// all their pipes); if it refuses, the pipe keeps its default. Returns the capacity in bytes, too.
pub fn pipe_with_room(bytes: usize) -> Result<(OwnedFd, OwnedFd, usize)> {
    /// Minimum capacity of a pipe: a user who has too many of them gets a page, see pipe(7).
    const LEAST_BYTES: usize = 4 << 10;
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).named(Call::Pipe)?;
    let room = widen_pipe(&writer, bytes).unwrap_or(LEAST_BYTES);
    Ok((reader, writer, room))
}

/// Moves up to `bytes` from an offset of a file into a pipe; 0 is the file's end. Blocks while the
/// pipe is full.
pub fn splice_in(file: impl AsFd, offset: u64, pipe: impl AsFd, bytes: usize) -> Result<usize> {
    let mut from = offset;
    rustix::pipe::splice(file, Some(&mut from), pipe, None, bytes, SpliceFlags::MOVE)
        .named(Call::Splice)
}

/// Does the same, but fails with `EAGAIN` while the pipe is full. May still block on the file.
pub fn splice_in_now(file: impl AsFd, offset: u64, pipe: impl AsFd, bytes: usize) -> Result<usize> {
    let mut from = offset;
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    rustix::pipe::splice(file, Some(&mut from), pipe, None, bytes, flags).named(Call::Splice)
}

/// Moves up to `bytes` from a pipe to an offset of a file. Blocks while the pipe is empty.
pub fn splice_out(pipe: impl AsFd, file: impl AsFd, offset: u64, bytes: usize) -> Result<usize> {
    let mut to = offset;
    rustix::pipe::splice(pipe, None, file, Some(&mut to), bytes, SpliceFlags::MOVE)
        .named(Call::Splice)
}

/// Moves up to `bytes` from one descriptor to another, of which one is a pipe, each at its own
/// position; 0 is the end. Blocks while the pipe is empty or full.
pub fn splice(source: impl AsFd, target: impl AsFd, bytes: usize) -> Result<usize> {
    rustix::pipe::splice(source, None, target, None, bytes, SpliceFlags::MOVE).named(Call::Splice)
}

/// Requests a capacity of `bytes` for a pipe and returns the resulting capacity, or `None` if the
/// descriptor is not a pipe. If the kernel refuses, the pipe does not change.
pub fn widen_pipe(pipe: impl AsFd, bytes: usize) -> Option<usize> {
    let now = rustix::pipe::fcntl_getpipe_size(&pipe).ok()?;
    if now >= bytes {
        return Some(now);
    }
    Some(fcntl_setpipe_size(&pipe, bytes).unwrap_or(now))
}
