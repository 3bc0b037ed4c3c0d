//! Buffers on page boundaries, from anonymous memory: <https://man7.org/linux/man-pages/man2/mmap.2.html>
//!
//! Direct I/O requires buffers aligned to the device's logical block size; page alignment satisfies
//! all devices. Anonymous memory costs nothing until it is touched, so a large buffer costs nothing
//! in a run of small files.

use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::Named;
use crate::{Call, Result};

/// The size of a huge page on both supported architectures with 4 KiB pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The pages that a buffer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Usual ones: a byte that is touched costs one of them.
    Small,
    /// Huge ones, from 2 MiB up, where the kernel has some: the first byte that is touched costs the
    /// clearing of 2 MiB, and the bytes behind it nothing more.
    Huge,
}

/// A page-aligned, zeroed buffer of fixed size.
pub struct AlignedBuffer {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is private to this value, and nothing in it depends on the thread.
unsafe impl Send for AlignedBuffer {}

// SAFETY: a shared reference gives access only to `&[u8]`.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// Maps a buffer; `ENOMEM` if there is no memory. Requests huge pages from 2 MiB up.
    pub fn new(bytes: usize) -> Result<AlignedBuffer> {
        AlignedBuffer::of(Pages::Huge, bytes)
    }

    /// Maps a buffer of pages of a kind.
    pub fn of(pages: Pages, bytes: usize) -> Result<AlignedBuffer> {
        let bytes = bytes.max(1);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory in
        // use.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .named(Call::Mmap)?;
        if pages == Pages::Huge && bytes >= HUGE_PAGE_BYTES {
            // SAFETY: the range was just mapped and belongs to this value. Refused advice affects
            // only speed, so its result is ignored.
            let _advice = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxHugepage) };
        }
        Ok(AlignedBuffer { start: start.cast(), bytes })
    }

    /// Returns the buffer's size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns whether the buffer is empty; it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl std::ops::Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `bytes` describe a live, initialised (zeroed) private mapping.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl std::ops::DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping and no borrow of it is left. Unmapping a whole
        // mapping cannot fail.
        let _unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_writable() {
        let mut buffer = AlignedBuffer::new(3 << 20).unwrap();
        assert_eq!(buffer.as_ptr().align_offset(4096), 0);
        assert!(buffer.iter().all(|byte| *byte == 0));
        buffer[3 << 19] = 7;
        assert_eq!(buffer[3 << 19], 7);
    }
}
