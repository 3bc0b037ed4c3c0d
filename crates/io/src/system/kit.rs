//! What a worker brings along: its buffers, its ring, and a view of the run it works for.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_sys::memory::{AlignedBuffer, Window};
use haul_sys::uring::Ring;

use crate::system::gentle;
use crate::system::pace::Pace;

/// Bytes of one buffered request. 256 KiB stays in a core's second-level cache together with the
/// page-cache pages it is copied from and to; 8 MiB does not (measured, see `docs/`).
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// A pipe, its end to read from first, and the room in it.
pub(crate) type Pipe = (OwnedFd, OwnedFd, usize);

/// The tools of one worker. Each is made when first asked for.
pub struct Kit {
    buffer: Option<AlignedBuffer>,
    /// A larger one, for large files alone: touching its first byte may clear a whole huge page.
    large: Option<AlignedBuffer>,
    ring: Option<Ring>,
    window: Option<Window>,
    pipe: Option<Pipe>,
    short_of_descriptors: bool,
}

impl Kit {
    /// Makes an empty kit.
    #[must_use]
    pub const fn new() -> Kit {
        Kit {
            buffer: None,
            large: None,
            ring: None,
            window: None,
            pipe: None,
            short_of_descriptors: false,
        }
    }

    /// Makes an empty kit of a worker that is to hold no descriptors that it can do without.
    #[must_use]
    pub const fn short_of_descriptors() -> Kit {
        let mut kit = Kit::new();
        kit.short_of_descriptors = true;
        kit
    }

    /// Returns a buffer of [`BUFFER_BYTES`] or, where more are asked for, of as many; `ENOMEM`
    /// when there is no memory for it.
    pub fn buffer(&mut self, bytes: usize) -> haul_sys::Result<&mut [u8]> {
        let place = if bytes <= BUFFER_BYTES { &mut self.buffer } else { &mut self.large };
        let bytes = bytes.max(BUFFER_BYTES);
        if place.as_ref().is_none_or(|buffer| buffer.len() < bytes) {
            *place = Some(AlignedBuffer::new(bytes)?);
        }
        match place {
            Some(buffer) => Ok(buffer),
            None => Ok(&mut []),
        }
    }

    /// Returns a ring with this many slots of this size; the errors of making one.
    pub(crate) fn ring(&mut self, slots: usize, bytes: usize) -> haul_sys::Result<&mut Ring> {
        let fits = |ring: &Ring| ring.slots() == slots && ring.slot_bytes() == bytes;
        if !self.ring.as_ref().is_some_and(fits) {
            // The old one's memory goes first.
            self.ring = None;
        }
        match &mut self.ring {
            Some(ring) => Ok(ring),
            none => Ok(none.insert(Ring::new(slots, bytes)?)),
        }
    }

    /// Throws the ring away, for it cannot be trusted any more.
    pub(crate) fn lose_ring(&mut self) {
        self.ring = None;
    }

    /// Returns a window of this size onto files; `ENOMEM` when there are no addresses for it.
    pub(crate) fn window(&mut self, bytes: usize) -> haul_sys::Result<&mut Window> {
        if self.window.as_ref().is_some_and(|window| window.len() != bytes) {
            self.window = None;
        }
        match &mut self.window {
            Some(window) => Ok(window),
            none => Ok(none.insert(Window::new(bytes)?)),
        }
    }

    /// Tells whether descriptors are too few to hold some without need.
    pub(crate) fn is_short_of_descriptors(&self) -> bool {
        self.short_of_descriptors
    }

    /// Returns an empty pipe; the errors of making one.
    pub(crate) fn pipe(&mut self, bytes: usize) -> haul_sys::Result<&Pipe> {
        match &mut self.pipe {
            Some(pipe) => Ok(pipe),
            none => Ok(none.insert(haul_sys::data::pipe_with_room(bytes)?)),
        }
    }

    /// Throws the pipe away, for there may be bytes left in it.
    pub(crate) fn lose_pipe(&mut self) {
        self.pipe = None;
    }
}

impl Default for Kit {
    fn default() -> Kit {
        Kit::new()
    }
}

/// How a method notices that the run was stopped, and counts what it has moved.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set when the run is to end; asked between requests.
    pub stop: &'a AtomicBool,
    /// Grows by the bytes that arrived at the target.
    pub bytes: &'a AtomicU64,
    /// The rate that the run must not exceed.
    pub pace: Option<&'a Pace>,
}

impl Watch<'_> {
    /// Tells whether the run is to end.
    #[inline]
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts bytes that arrived, and waits until the run's rate allows more; a gentle run rests.
    #[inline]
    pub fn moved(&self, bytes: u64) {
        self.counted(bytes);
        gentle::rest();
        if let Some(pace) = self.pace {
            pace.pay(bytes, self.stop);
        }
    }

    /// Counts bytes that arrived without having been moved.
    #[inline]
    pub fn counted(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the size of a request that would be `bytes` long if there was no rate and no other process.
    #[inline]
    #[must_use]
    pub fn request_bytes(&self, bytes: usize) -> usize {
        let bytes = gentle::request_bytes(bytes);
        self.pace.map_or(bytes, |pace| pace.request_bytes(bytes))
    }
}
