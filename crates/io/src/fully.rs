//! Reading and writing to the end, however short the answers: for what is read whole, such as a journal,
//! and for who cannot be stopped meanwhile.

use std::os::fd::AsFd;

use haul_sys::data::{pread, pwrite};
use haul_sys::{CallError, Result};

use crate::errno::{RETRIES, Verdict, verdict};

/// Reads until the buffer is full or the file ends, and returns how much that was. Blocks.
pub fn read_fully(fd: impl AsFd, buffer: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match again(|| pread(&fd, room, offset + filled as u64))? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Writes all of it. Blocks.
pub fn write_fully(fd: impl AsFd, bytes: &[u8], offset: u64) -> Result<()> {
    let (_, trouble) = write_all(bytes, |left, at| again(|| pwrite(&fd, left, offset + at)));
    trouble.map_or(Ok(()), Err)
}

/// Writes all of it, however short the answers: `write` gets what is left and how many bytes are before
/// that. Returns how many were written, and why no more were.
pub(crate) fn write_all(
    bytes: &[u8],
    mut write: impl FnMut(&[u8], u64) -> Result<usize>,
) -> (u64, Option<CallError>) {
    let mut written = 0;
    while let Some(left) = bytes.get(written..).filter(|left| !left.is_empty()) {
        match write(left, written as u64) {
            Ok(count) => written += count,
            Err(error) => return (written as u64, Some(error)),
        }
    }
    (written as u64, None)
}

/// Makes a call again as long as the table says so.
pub fn again<T>(call: impl FnMut() -> Result<T>) -> Result<T> {
    again_while(|| true, call)
}

/// The same, as long as it is wanted.
pub(crate) fn again_while<T>(
    is_wanted: impl Fn() -> bool,
    mut call: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut left = RETRIES;
    loop {
        match call() {
            Err(error)
                if left > 0
                    && is_wanted()
                    && verdict(error.call, error.errno) == Verdict::Retry =>
            {
                left -= 1;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use haul_sys::{Call, Errno};

    use super::*;

    #[test]
    fn what_was_interrupted_is_done_again_and_not_for_ever() {
        let after = |interruptions: u32, errno| {
            let mut calls = 0;
            let answer = again(|| {
                calls += 1;
                let errno = if calls <= interruptions { Errno::INTR } else { errno };
                Err::<(), _>(CallError::new(Call::Pread, errno))
            });
            (calls, answer.map_err(|error| error.errno))
        };
        assert_eq!(after(3, Errno::IO), (4, Err(Errno::IO)));
        assert_eq!(after(u32::MAX, Errno::IO), (RETRIES + 1, Err(Errno::INTR)));
    }

    #[test]
    fn a_file_is_read_to_its_end_and_written_where_it_is_meant() {
        let file = tempfile::tempfile().unwrap();
        write_fully(&file, b"beginning", 0).unwrap();
        write_fully(&file, b"END", 6).unwrap();
        let mut buffer = [0; 20];
        assert_eq!(read_fully(&file, &mut buffer, 1), Ok(8));
        assert_eq!(&buffer[..8], b"eginnEND");
        assert_eq!(read_fully(&file, &mut buffer[..4], 6), Ok(3));
    }
}
