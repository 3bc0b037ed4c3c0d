//! `cachestat` — how much of a file is in the page cache, and in what state (Linux 6.5):
//! <https://lwn.net/Articles/917096/>, <https://docs.kernel.org/filesystems/index.html>,
//! `include/uapi/linux/mman.h`
//!
//! Unlike `mincore` it needs no mapping and costs no page-table work. `ENOSYS` before Linux 6.5,
//! `EPERM` if the caller may not write the file and does not own it (6.14 and later).

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use crate::{Call, CallError, Result};

/// The call's number; it came after the tables were unified and is the same everywhere.
const SYS_CACHESTAT: libc::c_long = 451;

/// The kernel's `struct cachestat_range`; a length of 0 means up to the end.
#[repr(C)]
struct Range {
    offset: u64,
    bytes: u64,
}

/// State of a range in the page cache, in pages: the kernel's `struct cachestat`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachePages {
    /// Pages that are in the cache.
    pub cached: u64,
    /// Of these, pages that were changed and not yet written.
    pub dirty: u64,
    /// Of these, pages that are being written.
    pub writeback: u64,
    /// Pages that were in the cache and were evicted.
    pub evicted: u64,
    /// Of these, pages that were evicted recently: memory is short.
    pub recently_evicted: u64,
}

/// Counts the pages of a range of a file that are in the page cache; `bytes` of 0 means up to the
/// end. Never blocks on I/O.
pub fn cachestat(fd: impl AsFd, offset: u64, bytes: u64) -> Result<CachePages> {
    let range = Range { offset, bytes };
    let mut pages = CachePages::default();
    // SAFETY: the kernel reads one structure and fills in the other; both have its layout and live
    // until the call is over.
    let answer = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            fd.as_fd().as_raw_fd(),
            &raw const range,
            &raw mut pages,
            0_u32,
        )
    };
    if answer == 0 {
        return Ok(pages);
    }
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    Err(CallError::new(Call::Cachestat, Errno::from_raw_os_error(code)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_was_written_is_cached() {
        let path = std::env::temp_dir().join(format!("haul-sys-cachestat-{}", std::process::id()));
        let mut file = std::fs::File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(&[1; 5 * 4096]).unwrap();
        match cachestat(&file, 0, 0) {
            Ok(pages) => assert!(pages.cached >= 1, "{pages:?}"),
            Err(error) => {
                assert_eq!(error.errno, Errno::NOSYS);
                eprintln!("ignored: this kernel has no cachestat");
            }
        }
    }
}
