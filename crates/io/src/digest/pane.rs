//! A part of a file that is hashed where it lies in the page cache.
//!
//! Only what is cached is worth mapping: the rest would be read in page by page, with no thread reading
//! ahead.

use std::os::fd::BorrowedFd;

use haul_sys::memory::{Window, cachestat, may_look, page_bytes};

/// Bytes that are shown at once: a millisecond's work, and a power of two, as the subtrees of a tree
/// have to be.
pub(crate) const PANE_BYTES: u64 = 4 << 20;

/// Shows one part after another. Its addresses are reserved when the first is there to be shown.
pub(crate) struct Pane {
    window: Option<Window>,
}

impl Pane {
    pub(crate) const fn new() -> Pane {
        Pane { window: None }
    }

    /// Shows a part of a file, of at most [`PANE_BYTES`], if all of it is cached and the program allows to
    /// look at mapped files. An error where it cannot be mapped: not every file can, nor is there always room.
    pub(crate) fn show(
        &mut self,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> haul_sys::Result<Option<&Window>> {
        if !may_look() {
            return Ok(None);
        }
        // Not `mincore` in its place: it reports every page as present to users who do not own the file.
        let is_cached = cachestat(file, offset, bytes)
            .is_ok_and(|pages| pages.cached >= bytes.div_ceil(page_bytes()));
        if !is_cached {
            return Ok(None);
        }
        let window = match &mut self.window {
            Some(window) => window,
            empty @ None => empty.insert(Window::new(PANE_BYTES as usize)?),
        };
        window.show(file, offset, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(Some(window))
    }
}
