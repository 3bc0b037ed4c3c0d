//! Memory before a run: the same for every tool.
//!
//! A virtual machine with free page reporting gives free memory back to its host soon after it
//! became free, and gets it back page by page at many times the usual cost of a page fault. Whether
//! a run meets memory that the host has taken is chance: `dd` with 1 MiB took between 0.15 s and
//! 0.55 s for the same 512 MiB. So the memory that a run will need is used and freed just before
//! it. Huge pages matter: file systems take large folios for large writes, and those come from
//! blocks of the same sizes. After ordinary pages the times scattered as before.

use haul_sys::memory::{self, AlignedBuffer};

/// The smallest page that Linux uses.
const PAGE_BYTES: usize = 4096;

/// Uses and frees memory, at most half of what is available, and says whether that is as much as
/// was asked for. Without memory it does nothing: what is run then has other troubles.
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

/// Returns the bytes of memory that could be used without harm; no limit where that is not told.
pub(crate) fn available_bytes() -> u64 {
    memory::available_bytes().unwrap_or(u64::MAX)
}
