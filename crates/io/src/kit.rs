//! What a worker brings along: its buffer, and a view of the run it works for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::memory::AlignedBuffer;

/// Bytes of one buffered request. 256 KiB stays in a core's second-level cache together with the
/// page-cache pages it is copied from and to; 8 MiB does not (measured, see `docs/`).
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// The tools of one worker.
pub struct Kit {
    buffer: Option<AlignedBuffer>,
}

impl Kit {
    /// Makes an empty kit; the buffer is mapped when first asked for.
    #[must_use]
    pub const fn new() -> Kit {
        Kit { buffer: None }
    }

    /// Returns the buffer of [`BUFFER_BYTES`]; `ENOMEM` when there is no memory for it.
    pub fn buffer(&mut self) -> haul_sys::Result<&mut [u8]> {
        if self.buffer.is_none() {
            self.buffer = Some(AlignedBuffer::new(BUFFER_BYTES)?);
        }
        match &mut self.buffer {
            Some(buffer) => Ok(buffer),
            None => Ok(&mut []),
        }
    }
}

impl Default for Kit {
    fn default() -> Kit {
        Kit::new()
    }
}

/// How a method hears that the run was stopped, and tells what it has moved.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set when the run is to end; asked between requests.
    pub stop: &'a AtomicBool,
    /// Grows by the bytes that arrived at the target.
    pub bytes: &'a AtomicU64,
}

impl Watch<'_> {
    /// Tells whether the run is to end.
    #[inline]
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts bytes that arrived.
    #[inline]
    pub fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
