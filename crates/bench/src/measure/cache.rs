//! The page cache before and after a run.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use haul_sys::data::{Advice, fadvise};
use haul_sys::fs::fsync;
use haul_sys::memory::cachestat;
use serde::{Deserialize, Serialize};

use super::walk::each_file;
use crate::error::{Error, Result};

/// Read size for warming a file; it fits the level 2 cache.
const READ_BYTES: usize = 256 << 10;

/// Page cache use of a run, in pages; `None` if the kernel does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheUse {
    /// Pages of the source that were cached before the run.
    pub source_before: Option<u64>,
    /// Pages of the source that are cached after it.
    pub source_after: Option<u64>,
    /// Pages of the target that are cached after it.
    pub target_after: Option<u64>,
    /// Pages of an unrelated, recently used file that were cached before and are not after it.
    pub hot_evicted: Option<u64>,
}

/// Reads everything at or below `root`, so that it is in the page cache, and returns how many of
/// its pages then are; `None` if the kernel does not report it.
///
/// # Errors
///
/// A file cannot be read, or the session was interrupted.
pub(crate) fn preread(root: &Path, interrupt: &AtomicBool) -> Result<Option<u64>> {
    let mut pages = Some(0);
    let mut buffer = vec![0; READ_BYTES];
    each_file(root, interrupt, &mut |path, mut file| {
        while file.read(&mut buffer).map_err(Error::file("read", path))? > 0 {}
        pages = pages.and_then(|sum: u64| Some(sum + cachestat(file, 0, 0).ok()?.cached));
        Ok(())
    })?;
    Ok(pages)
}

/// Drops the files at or below `root` from the page cache, which any user may do, and returns how
/// many of their pages are still cached; `None` if the kernel does not report it. Names and inodes
/// stay cached.
///
/// # Errors
///
/// A file cannot be opened, or the session was interrupted.
pub(crate) fn evict(root: &Path, interrupt: &AtomicBool) -> Result<Option<u64>> {
    each_file(root, interrupt, &mut |path, file| {
        // Dirty pages are not dropped.
        fsync(file).map_err(Error::call("sync", path))?;
        fadvise(file, 0, 0, Advice::DontNeed).map_err(Error::call("drop from the cache", path))
    })?;
    cached_pages(root, interrupt)
}

/// Drops all clean pages, names and inodes of the whole machine. Needs root and slows down all
/// users of the machine, so it is done only on request.
///
/// # Errors
///
/// The kernel refuses.
pub(crate) fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    let path = Path::new("/proc/sys/vm/drop_caches");
    fs::write(path, "3").map_err(Error::file("write to", path))
}

/// Counts the cached pages of all files at or below `root`; `None` if the kernel does not report
/// it.
pub(crate) fn cached_pages(root: &Path, interrupt: &AtomicBool) -> Result<Option<u64>> {
    let mut pages = Some(0);
    each_file(root, interrupt, &mut |_, file| {
        pages = pages.and_then(|sum: u64| Some(sum + cachestat(file, 0, 0).ok()?.cached));
        Ok(())
    })?;
    Ok(pages)
}
