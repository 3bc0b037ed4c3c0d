//! The aspects of entries that a comparison covers.
//!
//! Existence and kind of an entry are always compared. The caller selects all other aspects,
//! because what a copy must preserve depends on its options.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An aspect of an entry that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// The size of regular files.
    Size,
    /// The bytes of regular files.
    Bytes,
    /// The text of symbolic links.
    LinkText,
    /// The numbers of devices.
    Rdev,
    /// The 12 permission bits, except those of symbolic links, which have no effect.
    Mode,
    /// The owning user.
    Owner,
    /// The owning group.
    Group,
    /// The modification time, to the nanosecond.
    Mtime,
    /// Hard links: which names refer to the same inode.
    Links,
    /// Extended attributes other than ACLs, with capabilities and security labels.
    Xattrs,
    /// POSIX ACLs, access and default.
    Acl,
    /// Flags of regular files and directories, as lsattr(1) shows them, and their projects.
    Flags,
    /// Whether B allocates more than expected.
    Blocks,
}

impl Aspect {
    /// All aspects, in the order in which they are compared and shown.
    pub const ALL: [Self; 13] = [
        Self::Size,
        Self::Bytes,
        Self::LinkText,
        Self::Rdev,
        Self::Mode,
        Self::Owner,
        Self::Group,
        Self::Mtime,
        Self::Links,
        Self::Xattrs,
        Self::Acl,
        Self::Flags,
        Self::Blocks,
    ];

    /// Returns the name for command lines, which [`Aspect::from_str`] reads back.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Bytes => "bytes",
            Self::LinkText => "link-text",
            Self::Rdev => "rdev",
            Self::Mode => "mode",
            Self::Owner => "owner",
            Self::Group => "group",
            Self::Mtime => "mtime",
            Self::Links => "links",
            Self::Xattrs => "xattrs",
            Self::Acl => "acl",
            Self::Flags => "flags",
            Self::Blocks => "blocks",
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses the name of an aspect; the error lists all names.
impl FromStr for Aspect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown aspect '{text}', known are {names}")
        })
    }
}

/// A set of aspects.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Aspects(u16);

impl Aspects {
    /// Returns the empty set: only names and kinds are compared.
    #[must_use]
    pub fn none() -> Self {
        Self(0)
    }

    /// Returns the set of all aspects.
    #[must_use]
    pub fn all() -> Self {
        Aspect::ALL.into_iter().collect()
    }

    /// Returns the aspects that an archive copy (`cp -a`) preserves: all but the allocation.
    #[must_use]
    pub fn preserved() -> Self {
        Self::all().without(Aspect::Blocks)
    }

    /// Returns the aspects that a plain recursive copy preserves: bytes, sizes, link texts, device
    /// numbers.
    #[must_use]
    pub fn contents_only() -> Self {
        [Aspect::Size, Aspect::Bytes, Aspect::LinkText, Aspect::Rdev].into_iter().collect()
    }

    /// Returns the set with `aspect` added.
    #[must_use]
    pub fn with(self, aspect: Aspect) -> Self {
        Self(self.0 | 1 << aspect as u16)
    }

    /// Returns the set with `aspect` removed.
    #[must_use]
    pub fn without(self, aspect: Aspect) -> Self {
        Self(self.0 & !(1 << aspect as u16))
    }

    /// Returns whether `aspect` is in the set.
    #[must_use]
    pub fn contains(self, aspect: Aspect) -> bool {
        self.0 & 1 << aspect as u16 != 0
    }

    /// Returns the aspects of the set in order.
    pub fn iter(self) -> impl Iterator<Item = Aspect> {
        Aspect::ALL.into_iter().filter(move |aspect| self.contains(*aspect))
    }
}

impl FromIterator<Aspect> for Aspects {
    fn from_iter<I: IntoIterator<Item = Aspect>>(aspects: I) -> Self {
        aspects.into_iter().fold(Self::none(), Self::with)
    }
}

impl fmt::Debug for Aspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
