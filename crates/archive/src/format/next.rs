//! What a reader of an archive returns.

use std::fmt;

use super::member::Member;
use super::refusal::Refusal;
use crate::source::SourceError;

/// What is next in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A member. Its data can be read by [`Reader::read`](super::Reader::read), or else are skipped.
    Member(Box<Member>),
    /// A member that is refused, with its name. The reader continues with the next one.
    Refused(Vec<u8>, Refusal),
    /// What was refused hides where the next header begins: nothing behind it is read, and the archive ends here.
    Lost,
    /// A block that is no header, where one should be. The reader continues with the next block.
    Invalid,
    /// The file is shorter than a block.
    TooShort,
    /// The archive ends without the blocks of zeros that it should have ([`Ending::Zeros`]).
    NoZeros,
    /// Two blocks of zeros, or the end of the file between two members.
    End,
    /// A single block of zeros, and then another header or the end of the file, with the number of the
    /// block behind it.
    LoneZero(u64),
    /// A keyword of an extended header that is not known; the member follows.
    UnknownKeyword(Vec<u8>),
    /// Something is wrong with the member that follows, of this name, and does not refuse it.
    Flawed(Vec<u8>, Flaw),
}

/// What is wrong with a header and decides neither a name, nor a size, nor where the next header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A time is malformed. That of the last change is 0 then.
    Time,
    /// The number of an owner or a group is malformed. The member gets one that no user has.
    Owner,
    /// The size of a link, a directory or a device is malformed. They have no data.
    Size,
    /// The mode is malformed. Only the owner may use the member.
    Mode,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flaw::Time => "a time in its header is malformed, and is not used",
            Flaw::Size => "the size in its header is malformed, and is not used",
            Flaw::Mode => "the mode in its header is malformed, and is not used",
            Flaw::Owner => "an owner in its header is malformed, and is not used",
        })
    }
}

/// Why an archive could not be read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The source failed.
    Source(SourceError),
    /// The archive ends within a member.
    UnexpectedEnd,
    /// Directories and links have more attributes than may wait in memory for the end of an extraction.
    TooManyAttributes,
}

impl From<SourceError> for ReadError {
    fn from(error: SourceError) -> ReadError {
        ReadError::Source(error)
    }
}

/// How an archive has to end, so that one that was cut off between two members is told from a complete one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Between two members: these are parts of an archive that is known to be complete.
    Any,
    /// Between two members, but a file without a byte is none, as for GNU tar.
    NotEmpty,
    /// By a block of zeros. All programs write two, and of a compressed archive nothing else shows that
    /// it is complete: its last part may be missing, and each part is complete in itself.
    Zeros,
}

/// Whether blocks of zeros end the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// Two of them do.
    End,
    /// They are skipped (`--ignore-zeros`).
    Skip,
}

/// Where an archive ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Offset of the block of zeros, or of the end of the file.
    pub offset: u64,
    /// Whether it is a block of zeros.
    pub zeros: bool,
}
