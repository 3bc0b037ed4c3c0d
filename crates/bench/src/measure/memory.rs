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

/// Returns the proportional set size of a process: its memory, with an equal part of each page that others map, too
/// (proc_pid_smaps(5)). `None` if it has ended, or the kernel does not tell.
pub(crate) fn pss_bytes(pid: u32) -> Option<u64> {
    let told = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    // A process that is ending has no memory any more, and is no sample.
    (kilobytes > 0).then_some(kilobytes * 1024)
}

/// Returns the bytes of memory that can be used safely; no limit if that is unknown.
pub(crate) fn available_bytes() -> u64 {
    memory::available_bytes().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_until_it_ends() {
        let own = pss_bytes(std::process::id());
        assert!(own.is_none_or(|bytes| bytes > 4096), "{own:?}");
        assert_eq!(pss_bytes(u32::MAX), None);
    }
}
