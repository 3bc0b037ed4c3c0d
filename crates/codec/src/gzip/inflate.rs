//! One call of the inflater, and what it did.

use zlib_rs::{Inflate, InflateFlush, Status};

/// Bits of the window of deflate.
const WINDOW_BITS: u8 = 15;

/// Makes the state of a deflate stream without a header of its own.
pub(crate) fn raw_inflate() -> Inflate {
    Inflate::new(false, WINDOW_BITS)
}

/// Whether a deflate stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    Not,
    Final,
    /// What follows is no deflate stream.
    Damaged,
}

/// What one call of [`inflate`] did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inflated {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) end: StreamEnd,
}

/// Decompresses bytes into room.
pub(crate) fn inflate(state: &mut Inflate, bytes: &[u8], room: &mut [u8]) -> Inflated {
    inflate_until(state, bytes, room, InflateFlush::NoFlush)
}

/// Decompresses bytes into room; with [`InflateFlush::Block`] not beyond the end of a block.
pub(super) fn inflate_until(
    state: &mut Inflate,
    bytes: &[u8],
    room: &mut [u8],
    flush: InflateFlush,
) -> Inflated {
    let (before_in, before_out) = (state.total_in(), state.total_out());
    let status = state.decompress(bytes, room, flush);
    Inflated {
        consumed: usize::try_from(state.total_in() - before_in).unwrap_or(0),
        produced: usize::try_from(state.total_out() - before_out).unwrap_or(0),
        end: match status {
            Ok(Status::StreamEnd) => StreamEnd::Final,
            Ok(Status::Ok | Status::BufError) => StreamEnd::Not,
            Err(_) => StreamEnd::Damaged,
        },
    }
}
