//! Compressed streams: ordered bytes in and out, blocks on several processors in between.
//!
//! One seam serves every caller. An [`Encoder`] takes bytes in order ([`std::io::Write`]), cuts them
//! into blocks, lets workers compress several at once, and writes the results in order to the sink
//! that the caller gave it. A [`Decoder`] reads a compressed stream, which may be of any of the
//! [`Format`]s (those that gzip reads are recognised, the others are named by the caller), and returns the original bytes in order ([`Decoder::next_piece`], or
//! [`std::io::Read`]); it verifies every check sum and length before it reports the end.
//!
//! The number of blocks in flight is bounded, so memory is too: see [`Encoder`] and [`Decoder`]. The
//! bytes that an encoder makes depend on the input and the [`EncodePlan`], never on the number of
//! workers. This crate does no I/O of its own: source and sink are the caller's, so that `haul gzip`
//! reads past the page cache and an archiver reads from memory.
//!
//! A gzip member of another writer is inflated by one thread, while others read and write; with an
//! index that an earlier run wrote ([`IndexWriter`], [`IndexPoints`]) by several. The
//! two-stage method, which several workers could apply to such a member, is not here: ARCHITECTURE.md
//! has the figures that made it unnecessary, and it would be another `Decode`.
//!
//! xz and single frames of Zstandard have threads of their libraries; everything else is cut into blocks
//! and frames here, see [`Packing`] and [`Format`].
//!
//! A format is one file: its compressor of one block (`BlockFormat` in `encoding.rs`) and its decoder
//! (`Decode` in `decoding.rs`), and a line in [`Format`].
//!
//! ```
//! use std::io::{Read, Write};
//! use haul_codec::{DecodePlan, Decoder, EncodePlan, Encoder};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut encoder = Encoder::new(Vec::new(), EncodePlan { jobs: 2, ..EncodePlan::GZIP });
//! encoder.write_all(b"a dump of a data base")?;
//! let (compressed, totals) = encoder.finish()?;
//! assert_eq!(totals.bytes_in, 21);
//!
//! let mut decoder = Decoder::new(std::io::Cursor::new(compressed), DecodePlan { jobs: 2, ..DecodePlan::default() });
//! let mut original = String::new();
//! decoder.read_to_string(&mut original)?;
//! assert_eq!(original, "a dump of a data base");
//! # Ok(())
//! # }
//! ```

mod bzip2;
mod cut;
mod decode;
mod decoding;
mod encode;
mod encoding;
mod error;
mod format;
mod gzip;
mod input;
mod library;
mod lzw;
mod ordered;
mod pack;
mod piece;
mod piece_queue;
mod plain;
mod spare;
mod threads;
mod xz;
mod zip;
mod zstd;

pub use cut::Cut;
pub use decode::{Decoder, Start};
pub use decoding::{DecodePlan, Garbage, Memory, Summary, Trailing};
pub use encode::{EncodePlan, Encoder, Packing, Totals};
pub use error::{Damage, DecodeError};
pub use format::Format;
pub use gzip::{
    Header, IndexError, IndexFacts, IndexPoints, IndexWriter, Place, Point, PointSink, PointSource,
    Stamp, read_index,
};
pub use zstd::{SeekTable, SeekableFrame};
