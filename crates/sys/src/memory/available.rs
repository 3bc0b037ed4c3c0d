//! `/proc/meminfo` — how much memory could be used without swapping:
//! <https://man7.org/linux/man-pages/man5/proc_meminfo.5.html>
//!
//! `sysinfo(2)` does not tell: the page cache that can be given up is most of what is available.

use crate::data::read;
use crate::fs::{CWD, OpenHow, openat};

/// Returns the bytes that the kernel estimates to be available (`MemAvailable`), or `None` where
/// it does not say so.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let file = openat(CWD, c"/proc/meminfo", OpenHow::READ).ok()?;
    let mut buffer = [0_u8; 1024];
    // MemAvailable is the third line, so one read of the beginning has it.
    let filled = read(&file, &mut buffer).ok()?;
    parse(std::str::from_utf8(buffer.get(..filled)?).ok()?)
}

fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_and_read() {
        assert_eq!(parse("MemTotal: 9 kB\nMemAvailable:     12 kB\n"), Some(12 * 1024));
        assert_eq!(parse("MemTotal: 9 kB\n"), None);
    }
}
