//! Memory before a run: the same for every tool.
//!
//! A virtual machine with free page reporting returns free memory to its host soon after it became
//! free, and gets it back page by page at many times the usual cost of a page fault. Whether a run
//! gets memory that the host has taken is random: `dd` with 1 MiB took between 0.15 s and 0.55 s
//! for the same 512 MiB. So the memory that a run needs is used and freed just before it, as huge
//! pages: file systems allocate large folios for large writes, and those come from blocks of the
//! same sizes. With ordinary pages the variance did not decrease.

use haul_sys::memory::{self, AlignedBuffer};

/// The smallest page that Linux uses.
const PAGE_BYTES: usize = 4096;

/// Uses and frees memory, at most half of the available memory, and returns whether that is as much
/// as requested. Does nothing if memory is short.
pub(crate) fn touch_memory(bytes: u64) -> bool {
    let most = bytes.min(available_bytes() / 2);
    let wanted = usize::try_from(most).unwrap_or(0);
    let made = AlignedBuffer::new(wanted);
    let is_all = most == bytes && made.is_ok();
    if let Ok(mut buffer) = made {
        for page in buffer.chunks_mut(PAGE_BYTES) {
            if let Some(first) = page.first_mut() {
                *first = 1;
            }
        }
    }
    is_all
}

/// Returns the bytes of memory that can be used safely; no limit if that is unknown.
pub(crate) fn available_bytes() -> u64 {
    memory::available_bytes().unwrap_or(u64::MAX)
}
