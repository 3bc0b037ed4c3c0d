//! Why a member is refused.
//!
//! GNU tar, bsdtar, CPython and Go read some headers differently: one program sees a file where another
//! sees a header that the first one skipped. An archive that was checked with one of them and extracted
//! with another is not what the check saw, so haul reads none of these. The members behind are read: those
//! that every reader sees, because of two sizes the larger one is skipped.

use std::fmt;

/// Why a member is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A number has characters that are neither digits nor padding.
    MalformedNumber,
    /// A number does not fit 64 bits.
    NumberTooLarge,
    /// A size or a mode is negative.
    NegativeNumber,
    /// The record of an extended header is malformed.
    MalformedRecord,
    /// An extended header has two different values of one keyword.
    RepeatedRecord,
    /// A name or the target of a link contains a NUL.
    NulInName,
    /// A name is empty.
    EmptyName,
    /// A long name continues behind the bytes that its header counts.
    LongNameSize,
    /// The size in the extended header is not that of the header.
    SizesDiffer,
    /// A long name and the name in an extended header differ.
    NamesDiffer,
    /// Two headers of the same kind belong to one member.
    RepeatedHeader,
    /// A link, a directory or a device claims to have data.
    UnexpectedData,
    /// The regions of a sparse file overlap, are not in order, or exceed its size.
    SparseMap,
    /// The regions of a sparse file are not all of its data, or more than them.
    SparseSize,
    /// Blocks continue a sparse map that has already ended, or is wrong.
    SparseEnd,
    /// Headers that belong to a member are followed by blocks of zeros.
    NoMember,
    /// A header of another format than GNU tar's has the kind of GNU tar's sparse files.
    SparseLayout,
    /// A version of sparse files that is not known.
    SparseVersion,
    /// The name of a sparse file ends in a slash.
    SparseName,
    /// A global extended header says of members which attributes they have, or another name, link or size than they do.
    GlobalMember,
    /// The magic is neither that of POSIX nor that of GNU tar, and decides the name or the device.
    UnknownMagic,
    /// An extended header or a long name is larger than [`super::EXTENDED_MAX_BYTES`], or a sparse map
    /// has more than [`super::REGIONS_MAX`] regions.
    HeaderTooLarge,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::MalformedNumber => "a number in its header is malformed",
            Refusal::NumberTooLarge => "a number in its header is too large",
            Refusal::NegativeNumber => "a number in its header is negative",
            Refusal::MalformedRecord => "its extended header is malformed",
            Refusal::RepeatedRecord => "its extended header has two values of one keyword",
            Refusal::NulInName => "its name or link target contains a NUL",
            Refusal::EmptyName => "its name is empty",
            Refusal::LongNameSize => "its long name is longer than the header says",
            Refusal::SizesDiffer => "its header and its extended header have different sizes",
            Refusal::NamesDiffer => "its long name and its extended header have different names",
            Refusal::RepeatedHeader => "it has two extended headers of one kind",
            Refusal::UnexpectedData => "it has data, which a member of its kind cannot have",
            Refusal::SparseMap => "its sparse map overlaps, is out of order or exceeds its size",
            Refusal::SparseSize => "its sparse map and its header have different sizes",
            Refusal::SparseEnd => "its sparse map ends before its last block",
            Refusal::SparseLayout => "its sparse map is not in a header of GNU tar",
            Refusal::SparseVersion => "the version of its sparse map is not supported",
            Refusal::NoMember => "no member follows its headers",
            Refusal::SparseName => "it is a sparse file whose name ends in a slash",
            Refusal::GlobalMember => {
                "a global extended header has a name, link, size or attribute of members"
            }
            Refusal::UnknownMagic => "its header has an unknown magic",
            Refusal::HeaderTooLarge => "its extended header is too large",
        })
    }
}
