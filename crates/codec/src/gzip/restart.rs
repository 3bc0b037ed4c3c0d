//! Restart marks: where a reader of our files can begin without the bytes before.
//!
//! A deflate stream may contain empty stored blocks. zlib writes one to end a flush on a byte
//! boundary; the encoder writes two behind each of its blocks, which any reader skips, and which are
//! rare enough in other data to look for. That a mark is real is proved, never assumed: the worker
//! that decompresses the bytes before it reads a final empty block in place of the second one, which
//! ends the stream if, and only if, the mark lies between two blocks.

/// The end of the first empty block, and the second: what [`mark`] ends with.
pub(super) const MARK: [u8; 9] = [0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff];

/// The second empty block of a mark.
pub(super) const SECOND_BYTES: usize = 5;

/// Adds a mark to a deflate stream whose last block ends at this bit; what follows that bit in the
/// last byte is zero.
pub(super) fn mark(stream: &mut Vec<u8>, end_bit: usize) {
    /// Bits of the header of a stored block: not final, type 0.
    const HEADER_BITS: usize = 3;
    stream.resize((end_bit + HEADER_BITS).div_ceil(8), 0);
    stream.extend_from_slice(&MARK);
}
