//! `mincore` — which pages of a file are in the page cache, through a mapping:
//! <https://man7.org/linux/man-pages/man2/mincore.2.html>
//!
//! For kernels without `cachestat`. Since Linux 5.2 it is accurate only for a caller that owns the
//! file or may write it; for other callers it reports all pages as resident.

use std::ops::Range;
use std::os::fd::AsFd;

use rustix::mm::{MapFlags, ProtFlags};

use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// Bytes to map at a time: the result takes 64 KiB, and the mapping fits a small address space.
const WINDOW_BYTES: u64 = 256 << 20;

/// Counts the bytes of a range of a file that are in the page cache, in whole pages.
///
/// `offset` is a multiple of the page. Never blocks on I/O. `ENODEV` for files without mappings.
pub fn resident_bytes(fd: impl AsFd, offset: u64, bytes: u64) -> Result<u64> {
    let mut pages = 0;
    each_window(fd, offset, bytes, |_, answers| {
        pages += answers.iter().filter(|answer| is_resident(**answer)).count() as u64;
    })?;
    Ok(pages * page_bytes())
}

/// Returns the parts of a range of a file that are in the page cache, in rising order and in whole pages.
///
/// `offset` is a multiple of the page. Never blocks on I/O. `ENODEV` for files without mappings.
pub fn resident_ranges(fd: impl AsFd, offset: u64, bytes: u64) -> Result<Vec<Range<u64>>> {
    let page = page_bytes();
    let mut found: Vec<Range<u64>> = Vec::new();
    each_window(fd, offset, bytes, |at, answers| {
        let starts = (at..).step_by(page_size());
        for (start, _) in starts.zip(answers).filter(|(_, answer)| is_resident(**answer)) {
            match found.last_mut() {
                Some(last) if last.end == start => last.end += page,
                _ => found.push(start..start + page),
            }
        }
    })?;
    Ok(found)
}

/// Returns whether the answer of the kernel for a page is that it is in memory; other bits are reserved.
const fn is_resident(answer: u8) -> bool {
    answer & 1 != 0
}

/// Calls a function with the answers for the pages of one part of a range after another, and its offset.
fn each_window(
    fd: impl AsFd,
    offset: u64,
    bytes: u64,
    mut look: impl FnMut(u64, &[u8]),
) -> Result<()> {
    let mut at = offset;
    let mut left = bytes;
    while left > 0 {
        let window = left.min(WINDOW_BYTES);
        let length =
            usize::try_from(window).map_err(|_| CallError::new(Call::Mmap, Errno::OVERFLOW))?;
        look(at, &window_pages(&fd, at, length)?);
        at += window;
        left -= window;
    }
    Ok(())
}

/// Returns the size of a page in bytes, the unit of the page cache.
#[must_use]
pub fn page_bytes() -> u64 {
    page_size() as u64
}

/// Returns the same for offsets in memory.
///
/// Asks the C library, which got the number from the kernel when the program began; rustix::param reads and checks
/// the auxiliary vector of the program itself, which leads astray where a library runs under valgrind.
pub(super) fn page_size() -> usize {
    /// Size of a page if it is unknown, which sysconf(3) does not allow.
    const USUAL_BYTES: usize = 4096;
    // SAFETY: asking for a constant of the system touches no memory of ours.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(USUAL_BYTES)
}

fn window_pages(fd: &impl AsFd, offset: u64, bytes: usize) -> Result<Vec<u8>> {
    let page = page_size();
    // SAFETY: a new mapping at an address of the kernel's choice; it is never read through.
    let start = unsafe {
        rustix::mm::mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, fd, offset)
    }
    .named(Call::Mmap)?;
    let mut answers = vec![0_u8; bytes.div_ceil(page)];
    // SAFETY: the range was just mapped, and there is one byte for each of its pages.
    let answer = unsafe { libc::mincore(start, bytes, answers.as_mut_ptr()) };
    let errno = (answer != 0).then(|| Errno::from_io_error(&std::io::Error::last_os_error()));
    // SAFETY: this function owns the mapping and nothing points into it. Unmapping a whole mapping
    // cannot fail.
    let _unmapped = unsafe { rustix::mm::munmap(start, bytes) };
    match errno {
        None => Ok(answers),
        Some(errno) => Err(CallError::new(Call::Mincore, errno.unwrap_or(Errno::IO))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_written_is_resident() {
        let path = std::env::temp_dir().join(format!("haul-sys-mincore-{}", std::process::id()));
        let mut file =
            std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&[1; 5 * 4096]).unwrap();
        assert_eq!(resident_bytes(&file, 0, 5 * 4096).unwrap(), 5 * 4096);
        assert_eq!(resident_bytes(&file, 0, 0).unwrap(), 0);
        let ranges = resident_ranges(&file, 4096, 4 * 4096).unwrap();
        assert_eq!((ranges.len(), ranges.first()), (1, Some(&(4096..5 * 4096))));
        assert_eq!(resident_ranges(&file, 0, 0).unwrap(), []);
    }
}
