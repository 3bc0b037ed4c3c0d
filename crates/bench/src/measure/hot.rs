//! An unrelated file in use: measures how much of it a run evicts from the page cache.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_manifest::noise;
use haul_sys::fs::fsync;
use haul_sys::memory::cachestat;

use crate::error::{Error, Result};

/// The size: large enough for a run to evict parts of it, small enough for any machine.
const HOT_BYTES: u64 = 32 << 20;

const CHUNK_BYTES: usize = 1 << 20;

/// A file that is kept in use.
#[derive(Debug)]
pub(crate) struct HotFile {
    file: File,
}

impl HotFile {
    /// Fills an empty file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn new(mut file: File, path: &Path) -> Result<HotFile> {
        let chunk = noise(HOT_BYTES, CHUNK_BYTES);
        for _ in 0..HOT_BYTES / CHUNK_BYTES as u64 {
            file.write_all(&chunk).map_err(Error::file("write", path))?;
        }
        // A dirty page cannot be evicted, so the file would never lose pages.
        fsync(&file).map_err(Error::call("sync", path))?;
        Ok(HotFile { file })
    }

    /// Reads the file twice, which makes the kernel treat it as active, and returns how many of its
    /// pages are cached; `None` if the kernel does not report it.
    pub(crate) fn use_it(&self) -> Option<u64> {
        let mut buffer = vec![0; CHUNK_BYTES];
        for _ in 0..2 {
            for chunk in 0..HOT_BYTES / CHUNK_BYTES as u64 {
                self.file.read_exact_at(&mut buffer, chunk * CHUNK_BYTES as u64).ok()?;
            }
        }
        self.cached()
    }

    /// Returns how many pages are cached.
    pub(crate) fn cached(&self) -> Option<u64> {
        cachestat(&self.file, 0, 0).ok().map(|pages| pages.cached)
    }
}
