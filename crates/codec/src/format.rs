//! The formats that a decoder recognises.

/// A format of compressed streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// gzip, RFC 1952: the only format that [`crate::Encoder`] writes.
    Gzip,
    /// The first entry of a ZIP archive, as gzip reads it.
    Zip,
    /// `compress`: adaptive codes of 9 to 16 bits.
    Lzw,
    /// `pack`: one Huffman code for the whole file.
    Pack,
    /// No format: the bytes are passed on unchanged, where the caller allows that.
    Plain,
}
