//! One stream or file cut into pieces, as `split` has it.
//!
//! What can be cut without looking (a regular file, by bytes; or by lines around given places) is a
//! list of ranges that several workers move at once. Everything else is read in order and handed to
//! [`Pieces`]. Names, limits and messages are the caller's.

mod chunks;
mod line_bytes;
mod names;
mod pieces;
mod ranges;
mod stream;

pub use chunks::{ByteChunks, LineChunks, ReadAt, nth_byte_chunk};
pub use line_bytes::by_line_bytes;
pub use names::{Alphabet, Names};
pub use pieces::{Pieces, Source, Taken, Turns};
pub use ranges::{Moved, move_ranges};
pub use stream::{by_bytes, by_lines, by_turns, only_turn};
