//! The formats that a decoder recognises.

/// A format of compressed streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// gzip, RFC 1952.
    Gzip,
    /// The first entry of a ZIP archive, as gzip reads it.
    Zip,
    /// `compress`: adaptive codes of 9 to 16 bits.
    Lzw,
    /// `pack`: one Huffman code for the whole file.
    Pack,
    /// Zstandard, RFC 8878, in any number of frames.
    Zstd,
    /// xz, in any number of streams.
    Xz,
    /// The format of LZMA alone, or xz.
    Lzma,
    /// bzip2, in any number of streams.
    Bzip2,
    /// No format: the bytes are passed on unchanged, where the caller allows that.
    Plain,
}
