//! `/proc/meminfo` — the memory statistics of the kernel:
//! <https://man7.org/linux/man-pages/man5/proc_meminfo.5.html>
//!
//! `sysinfo(2)` lacks two values that matter for copying: available memory including reclaimable
//! page cache, and dirty pages that are not yet on storage.

use super::cgroup::{MemoryState, stalled};
use crate::fs::pseudo::text;

/// More than the kernel prints up to the lines of interest, the twentieth at most.
const BEGINNING_BYTES: usize = 2048;

/// More than `/proc/vmstat` has: about 200 lines.
const VMSTAT_BYTES: usize = 32 << 10;

/// More than the two lines of `/proc/pressure/memory` have.
const PRESSURE_BYTES: usize = 512;

/// Returns the bytes that the kernel estimates to be available (`MemAvailable`), or `None` if it
/// does not report them.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    with_text(|text| field(text, "MemAvailable:"))
}

/// Returns the bytes of memory that the kernel manages (`MemTotal`), or `None` if it does not report
/// them.
#[must_use]
pub fn total_bytes() -> Option<u64> {
    with_text(|text| field(text, "MemTotal:"))
}

/// Returns the bytes that any process has written and that are not on storage yet (`Dirty` and
/// `Writeback`), or `None` if the kernel does not report them. Does not block.
#[must_use]
pub fn unwritten_bytes() -> Option<u64> {
    with_text(unwritten)
}

fn with_text(read_from: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    read_from(&text("/proc/meminfo", BEGINNING_BYTES)?)
}

/// Returns the state of the machine's memory, or `None` if the kernel does not report it. Reads three files;
/// does not block.
#[must_use]
pub fn machine_state() -> Option<MemoryState> {
    let text_of_memory = text("/proc/meminfo", BEGINNING_BYTES)?;
    let of = |name| field(&text_of_memory, name);
    let available_bytes = of("MemAvailable:")?;
    // Some free memory is kept for the kernel itself, so it is not available.
    let free_bytes = of("MemFree:")?.min(available_bytes);
    let refaulted_pages = text("/proc/vmstat", VMSTAT_BYTES).and_then(|text| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("workingset_refault_file ")?.parse().ok())
    });
    Some(MemoryState {
        limit_bytes: of("MemTotal:")?,
        free_bytes,
        cached_bytes: available_bytes - free_bytes,
        inactive_bytes: of("Inactive(file):").unwrap_or(0),
        refaulted_pages,
        stalled: text("/proc/pressure/memory", PRESSURE_BYTES).and_then(|text| stalled(&text)),
    })
}

fn unwritten(text: &str) -> Option<u64> {
    Some(field(text, "Dirty:")?.saturating_add(field(text, "Writeback:")?))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_whole_names() {
        let text = "MemTotal: 9 kB\nMemAvailable:     12 kB\nDirty:  3 kB\nWriteback:   4 kB\n\
                    WritebackTmp:  9 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12 * 1024));
        assert_eq!(unwritten(text), Some(7 * 1024));
    }

    #[test]
    fn missing_values_are_not_invented() {
        assert_eq!(field("MemTotal: 9 kB\n", "MemAvailable:"), None);
        assert_eq!(unwritten("Dirty:  3 kB\n"), None);
    }

    #[test]
    fn this_kernel_tells_both() {
        assert!(available_bytes().is_some() && unwritten_bytes().is_some());
        let state = machine_state().unwrap();
        assert!(state.available_bytes() <= state.limit_bytes, "{state:?}");
    }
}
