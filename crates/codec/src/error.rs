//! Why a stream cannot be decoded.

use std::io;

/// What is wrong with a compressed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The first bytes are those of no known format.
    UnknownFormat,
    /// The stream ends before its end.
    UnexpectedEnd,
    /// A gzip member with a method other than deflate.
    Method(u8),
    /// An encrypted gzip member.
    Encrypted,
    /// A gzip member with flags that RFC 1952 reserves.
    Flags(u8),
    /// The check sum of a gzip header: what it says, and what was computed.
    HeaderChecksum(u16, u16),
    /// A gzip header that is longer than any known, or has a name longer than any path.
    NameTooLarge,
    /// The compressed bytes violate the format.
    Format,
    /// The check sum of the data differs.
    Checksum,
    /// The check of the data is of a type that is not known, so it could not be compared.
    UnknownCheck(u8),
    /// The length of the data differs.
    Length,
    /// A ZIP archive without a valid first entry.
    ZipHeader,
    /// The first entry of a ZIP archive is neither deflated nor stored.
    ZipMethod,
    /// The first entry of a ZIP archive is encrypted.
    ZipEncrypted,
    /// `compress` data with more bits for each code than this decoder has: the number of bits.
    CodeBits(u8),
    /// `compress` data with a code that stands for nothing.
    Code,
    /// `pack` data with codes that are too long, or of no length.
    CodeLength,
    /// `pack` data with more codes than there can be.
    CodeTable,
    /// `pack` data with bits that are no code.
    CodeTableIncomplete,
    /// A gzip member with data of an older format behind it, which this crate does not decode.
    OtherFormat,
    /// The data need more memory to be decompressed than this crate allows.
    Memory,
    /// `lzh` data, which this crate does not decode.
    Lzh,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Damage::UnknownFormat => f.write_str("the data is in no known compressed format"),
            Damage::UnexpectedEnd => f.write_str("the compressed data ends too early"),
            Damage::Method(method) => write!(f, "compression method {method} is not supported"),
            Damage::Encrypted | Damage::ZipEncrypted => f.write_str("the data is encrypted"),
            Damage::Flags(flags) => write!(f, "header flags {flags:#x} are not supported"),
            Damage::HeaderChecksum(..) => f.write_str("the check sum of the header is wrong"),
            Damage::NameTooLarge => f.write_str("the name in the header is too long"),
            Damage::Format => f.write_str("the compressed data is damaged"),
            Damage::Checksum => f.write_str("the check sum of the data is wrong"),
            Damage::UnknownCheck(kind) => {
                write!(f, "the data could not be verified: its check is of the unknown type {kind}")
            }
            Damage::Length => f.write_str("the length of the data is wrong"),
            Damage::ZipHeader => f.write_str("the ZIP archive has no valid first entry"),
            Damage::ZipMethod => f.write_str("the ZIP entry is neither deflated nor stored"),
            Damage::CodeBits(bits) => write!(f, "codes of {bits} bits are not supported"),
            Damage::Code | Damage::CodeLength => f.write_str("a code is impossible"),
            Damage::CodeTable | Damage::CodeTableIncomplete => {
                f.write_str("the table of codes is impossible")
            }
            Damage::OtherFormat => {
                f.write_str("a gzip member is followed by data in an older format")
            }
            Damage::Memory => f.write_str("decompressing the data needs too much memory"),
            Damage::Lzh => f.write_str("lzh data is not supported"),
        }
    }
}

impl std::error::Error for Damage {}

/// Why decoding ended before its end.
#[derive(Debug)]
pub enum DecodeError {
    /// The source failed.
    Input(io::Error),
    /// The stream is damaged, or in a format that this crate does not read.
    Data(Damage),
}

impl From<Damage> for DecodeError {
    fn from(damage: Damage) -> DecodeError {
        DecodeError::Data(damage)
    }
}

impl From<DecodeError> for io::Error {
    fn from(error: DecodeError) -> io::Error {
        match error {
            DecodeError::Input(error) => error,
            DecodeError::Data(damage) => io::Error::new(io::ErrorKind::InvalidData, damage),
        }
    }
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecodeError::Input(error) => error.fmt(f),
            DecodeError::Data(damage) => damage.fmt(f),
        }
    }
}

impl std::error::Error for DecodeError {}
