//! Reading and writing to the end of a buffer, however short the kernel's answers are: the one loop
//! for each, under every mover, stream and record.
//!
//! A read that returns 0 is the end of the file. A write that returns 0 is `ENOSPC`: a device that
//! accepts nothing is full, and a caller that repeated the write would never end.

use std::os::fd::AsFd;

use haul_sys::data::{pread, pwrite, write};
use haul_sys::process::Ready;
use haul_sys::{Call, CallError, Errno, Result};

use crate::system::retry::{again, when_ready};

/// Reads at an offset until the buffer is full or the file ends, and returns the number of bytes
/// read. Blocks.
pub fn read_fully(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize> {
    let (filled, error) =
        read_all(buffer, |room, at| again(|| pread(&fd, &mut *room, offset + at)));
    error.map_or(Ok(usize::try_from(filled).unwrap_or(usize::MAX)), Err)
}

/// Writes a buffer at an offset. Blocks.
pub fn write_fully(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<()> {
    let (_, error) = write_all(bytes, |left, at| again(|| pwrite(&fd, left, offset + at)));
    error.map_or(Ok(()), Err)
}

/// Writes a buffer at the descriptor's position. Blocks, also where the descriptor is in non-blocking
/// mode and full.
pub fn write_whole(fd: impl AsFd, bytes: &[u8]) -> Result<()> {
    let (_, error) =
        write_all(bytes, |left, _| when_ready(&fd, Ready::ToWrite, || write(&fd, left)));
    error.map_or(Ok(()), Err)
}

/// Fills a buffer: `read` gets the room that is left and the number of bytes before it. Returns the
/// number of bytes read, and the error that ended it; less than the buffer without an error is the
/// end of the file.
pub(crate) fn read_all<E>(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> std::result::Result<usize, E>,
) -> (u64, Option<E>) {
    advance(buffer.len() as u64, |done| {
        let start = usize::try_from(done).unwrap_or(usize::MAX);
        read(&mut buffer[start..], done)
    })
}

/// Writes a buffer: `write` gets the bytes that are left and the number of bytes before them. Returns
/// the number of bytes written, and the error that ended it.
pub(crate) fn write_all<E: From<CallError>>(
    bytes: &[u8],
    mut write: impl FnMut(&[u8], u64) -> std::result::Result<usize, E>,
) -> (u64, Option<E>) {
    write_each(bytes.len() as u64, Call::Write, |done| {
        let start = usize::try_from(done).unwrap_or(usize::MAX);
        write(&bytes[start..], done)
    })
}

/// Writes `bytes` bytes from wherever they are, a pipe or a mapping: `write` gets the number of bytes
/// before it. `call` names the call in the error of one that accepts nothing.
pub(crate) fn write_each<E: From<CallError>>(
    bytes: u64,
    call: Call,
    write: impl FnMut(u64) -> std::result::Result<usize, E>,
) -> (u64, Option<E>) {
    match advance(bytes, write) {
        (done, None) if done < bytes => (done, Some(CallError::new(call, Errno::NOSPC).into())),
        answer => answer,
    }
}

/// Repeats a step until `bytes` bytes are done, the step returns 0, or it fails. Returns the number of
/// bytes done, and the error.
fn advance<E>(
    bytes: u64,
    mut step: impl FnMut(u64) -> std::result::Result<usize, E>,
) -> (u64, Option<E>) {
    let mut done = 0;
    while done < bytes {
        match step(done) {
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_and_written_at_the_offset() {
        let file = tempfile::tempfile().unwrap();
        write_fully(&file, b"beginning", 0).unwrap();
        write_fully(&file, b"END", 6).unwrap();
        let mut buffer = [0; 20];
        assert_eq!(read_fully(&file, &mut buffer, 1), Ok(8));
        assert_eq!(&buffer[..8], b"eginnEND");
        assert_eq!(read_fully(&file, &mut buffer[..4], 6), Ok(3));
    }

    #[test]
    fn a_write_that_accepts_nothing_is_a_full_device() {
        let mut answers = [2, 3, 0, 9].into_iter();
        let (written, error) =
            write_all(b"0123456789", |_, _| Ok::<_, CallError>(answers.next().unwrap()));
        assert_eq!((written, error), (5, Some(CallError::new(Call::Write, Errno::NOSPC))));
    }

    #[test]
    fn an_error_comes_with_the_bytes_before_it() {
        let failed = CallError::new(Call::Pwrite, Errno::IO);
        let (written, error) =
            write_all(b"0123456789", |left, _| if left.len() > 6 { Ok(4) } else { Err(failed) });
        assert_eq!((written, error), (4, Some(failed)));
    }
}
