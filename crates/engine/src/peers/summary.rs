//! What a unit is, for people: which file or directory, and how much of it.

use std::fmt;
use std::ops::Range;

/// What a unit has of its file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A directory with everything in it.
    Directory,
    /// So many names of a directory.
    Names(usize),
    /// A range of the names of a directory.
    SomeNames,
    /// Bytes of a file.
    Bytes(Range<u64>),
}

/// What a unit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Path from the current directory.
    pub path: Vec<u8>,
    /// What of it the unit has.
    pub extent: Extent,
}

impl Summary {
    /// Makes a summary of the names from an operand down.
    pub(crate) fn below<'n>(names: impl Iterator<Item = &'n [u8]>, extent: Extent) -> Summary {
        let names: Vec<&[u8]> = names.filter(|name| !name.is_empty()).collect();
        Summary { path: names.join(&b'/'), extent }
    }
}

/// The extent alone; the path is for the caller to quote.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Directory => f.write_str("directory"),
            Extent::SomeNames => f.write_str("some names in"),
            Extent::Names(1) => f.write_str("1 name in"),
            Extent::Names(count) => write!(f, "{count} names in"),
            Extent::Bytes(range) => {
                let mib = |bytes: u64| bytes >> 20;
                write!(f, "{} to {} MiB of", mib(range.start), mib(range.end))
            }
        }
    }
}
