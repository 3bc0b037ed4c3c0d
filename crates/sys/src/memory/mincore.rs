//! `mincore` — which pages of a file are in the page cache, through a mapping:
//! <https://man7.org/linux/man-pages/man2/mincore.2.html>
//!
//! For kernels without `cachestat`. Since Linux 5.2 it is accurate only for a caller that owns the
//! file or may write it; for other callers it reports all pages as resident.

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
    let page = rustix::param::page_size();
    let mut pages = 0;
    let mut at = offset;
    let mut left = bytes;
    while left > 0 {
        let window = left.min(WINDOW_BYTES);
        let length =
            usize::try_from(window).map_err(|_| CallError::new(Call::Mmap, Errno::OVERFLOW))?;
        pages += window_pages(&fd, at, length, page)?;
        at += window;
        left -= window;
    }
    Ok(pages * page as u64)
}

/// Returns the size of a page in bytes, the unit of the page cache.
#[must_use]
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn window_pages(fd: &impl AsFd, offset: u64, bytes: usize, page: usize) -> Result<u64> {
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
        None => Ok(answers.iter().filter(|answer| **answer & 1 != 0).count() as u64),
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
    }
}
