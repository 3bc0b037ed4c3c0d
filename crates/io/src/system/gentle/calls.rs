//! The calls of a worker between two rests, and whose time they are.
//!
//! A request to a file may take long because others are at work. A call that waits for a pipe takes as long as the
//! program at its other end: it is no work, after which a rest would be due, and tells nothing of storage.

use std::os::fd::AsFd;
use std::time::Instant;

use haul_sys::fs::{Kind, fstat};

use super::{GOVERNOR, RHYTHM, is_begun};

/// Makes a request to a file, which returns how many bytes it has moved. Its time tells a gentle run whether others
/// are at work, where the kernel does not.
#[inline]
pub fn request<E>(call: impl FnOnce() -> Result<usize, E>) -> Result<usize, E> {
    measured(call, |answer| *answer.as_ref().unwrap_or(&0))
}

/// The same of a call with another answer, of which `bytes_of` tells how many bytes were moved.
#[inline]
pub(crate) fn measured<T>(call: impl FnOnce() -> T, bytes_of: impl FnOnce(&T) -> usize) -> T {
    match GOVERNOR.get().and_then(|governor| governor.requests.as_ref()) {
        Some(requests) => requests.measure(call, bytes_of),
        None => call(),
    }
}

/// Makes a call that waits for another program, or for another thread: no reason for a gentle run to rest.
#[inline]
pub(crate) fn elsewhere<T>(call: impl FnOnce() -> T) -> T {
    if !is_begun() {
        return call();
    }
    let begun = Instant::now();
    let answer = call();
    RHYTHM.set(RHYTHM.get().without(begun.elapsed()));
    answer
}

/// Makes a call that reads from a descriptor, or writes to it, at its position: [`elsewhere`] for a pipe or a socket,
/// a [`request`] for a file.
#[inline]
pub(crate) fn in_order<E>(
    fd: impl AsFd,
    call: impl FnOnce() -> Result<usize, E>,
) -> Result<usize, E> {
    if !is_begun() {
        return call();
    }
    match fstat(fd).map(|stat| stat.kind()) {
        Ok(Kind::Fifo | Kind::Socket) => elsewhere(call),
        Ok(Kind::Regular | Kind::BlockDevice) => request(call),
        _ => call(),
    }
}

/// Returns whether a gentle run has a descriptor whose time is that of another program.
pub(crate) fn is_of_others(fd: impl AsFd) -> bool {
    is_begun() && fstat(fd).is_ok_and(|stat| matches!(stat.kind(), Kind::Fifo | Kind::Socket))
}
