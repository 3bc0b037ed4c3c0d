//! One difference between two trees, as data and as a line of text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::shown;
use crate::text::RawText;
use crate::values::{Kind, Rdev, Timestamp};

/// One of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first tree.
    A,
    /// The second tree.
    B,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// One difference.
///
/// Serialises as one flat map: `{"path": "d/f", "what": "mode", "a": 420, "b": 384}`. Paths and
/// other bytes have the form of [`RawText`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The entry, relative to both roots; empty for the roots themselves.
    pub path: RawText,
    /// What differs.
    #[serde(flatten)]
    pub what: What,
}

/// The kind of a difference, with the values on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// The entry is in A and not in B. Entries below such a directory are not listed.
    OnlyInA {
        /// Its kind; `None` if that could not be determined.
        kind: Option<Kind>,
    },
    /// The entry is in B and not in A.
    OnlyInB {
        /// Its kind; `None` if that could not be determined.
        kind: Option<Kind>,
    },
    /// The entries are of different kinds. Nothing else is compared, and nothing below them.
    Kind {
        /// The kind in A.
        a: Kind,
        /// The kind in B.
        b: Kind,
    },
    /// The lengths differ, in bytes. Where the bytes were compared, these are the lengths up to the
    /// end of the file and not those of stat(2), so that files of /proc are compared correctly.
    Size {
        /// The length in A.
        a: u64,
        /// The length in B.
        b: u64,
    },
    /// The contents differ within their common length; or, if sizes are not compared, one content
    /// is longer than the other.
    Bytes {
        /// The offset of the first byte that differs or is missing.
        first_offset: u64,
    },
    /// The text of a symbolic link differs.
    LinkText {
        /// The text in A.
        a: RawText,
        /// The text in B.
        b: RawText,
    },
    /// The number of a device differs.
    Rdev {
        /// The number in A.
        a: Rdev,
        /// The number in B.
        b: Rdev,
    },
    /// The 12 permission bits differ.
    Mode {
        /// The bits in A.
        a: u16,
        /// The bits in B.
        b: u16,
    },
    /// The owner differs.
    Owner {
        /// The user's number in A.
        a: u32,
        /// The user's number in B.
        b: u32,
    },
    /// The group differs.
    Group {
        /// The group's number in A.
        a: u32,
        /// The group's number in B.
        b: u32,
    },
    /// The modification time differs.
    Mtime {
        /// The time in A.
        a: Timestamp,
        /// The time in B.
        b: Timestamp,
    },
    /// The entry shares its inode with an earlier entry on one side and not on the other, or with
    /// different ones.
    LinkGroup {
        /// The first entry that has the same inode in A.
        a: LinkedTo,
        /// The first entry that has the same inode in B.
        b: LinkedTo,
    },
    /// An extended attribute differs, or exists on one side only.
    Xattr {
        /// The full name.
        name: RawText,
        /// The value in A, if it exists.
        a: Option<RawText>,
        /// The value in B, if it exists.
        b: Option<RawText>,
    },
    /// An ACL differs, or exists on one side only. The values are the kernel's raw form.
    Acl {
        /// `system.posix_acl_access` or `system.posix_acl_default`.
        name: RawText,
        /// The value in A, if it exists.
        a: Option<RawText>,
        /// The value in B, if it exists.
        b: Option<RawText>,
    },
    /// The flags differ: letters of lsattr(1).
    Flags {
        /// The flags in A.
        a: String,
        /// The flags in B.
        b: String,
    },
    /// The project for whose quota the entry counts differs; 0 is none.
    Project {
        /// The number in A.
        a: u32,
        /// The number in B.
        b: u32,
    },
    /// B allocates more than A, or more than A's data needs (whichever is more), by over one of
    /// its own blocks for each data segment. Less is never a difference. Units of 512 bytes.
    Blocks {
        /// What is allocated in A.
        a: u64,
        /// What is allocated in B.
        b: u64,
    },
}

/// The entry of the same tree that an entry shares its inode with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkedTo {
    /// No entry that was compared before.
    None,
    /// This entry, the first with the inode.
    Path(RawText),
    /// An earlier entry, whose path is longer than 4,096 bytes and was not stored.
    LongPath,
}

impl fmt::Display for LinkedTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("by itself"),
            Self::Path(path) => write!(f, "linked to {}", shown(path)),
            Self::LongPath => f.write_str("linked to an entry with a long path"),
        }
    }
}

impl What {
    /// Returns the name, which is also the tag of the serialised form, for counting.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::OnlyInA { .. } => "only_in_a",
            Self::OnlyInB { .. } => "only_in_b",
            Self::Kind { .. } => "kind",
            Self::Size { .. } => "size",
            Self::Bytes { .. } => "bytes",
            Self::LinkText { .. } => "link_text",
            Self::Rdev { .. } => "rdev",
            Self::Mode { .. } => "mode",
            Self::Owner { .. } => "owner",
            Self::Group { .. } => "group",
            Self::Mtime { .. } => "mtime",
            Self::LinkGroup { .. } => "link_group",
            Self::Xattr { .. } => "xattr",
            Self::Acl { .. } => "acl",
            Self::Flags { .. } => "flags",
            Self::Project { .. } => "project",
            Self::Blocks { .. } => "blocks",
        }
    }
}

impl What {
    /// Returns the text with names for both sides: `mode 0644 in 'old', 0600 in 'new'`. The names are
    /// shown as they are.
    #[must_use]
    pub fn text(&self, a_name: &str, b_name: &str) -> String {
        let pair = |what: &str, a: &dyn fmt::Display, b: &dyn fmt::Display| {
            format!("{what}{a} in {a_name}, {b} in {b_name}")
        };
        match self {
            Self::OnlyInA { kind } => format!("only in {a_name}{}", in_brackets(*kind)),
            Self::OnlyInB { kind } => format!("only in {b_name}{}", in_brackets(*kind)),
            Self::Kind { a, b } => pair("", a, b),
            Self::Size { a, b } => pair("size ", a, b),
            Self::Bytes { first_offset } => format!("bytes differ from offset {first_offset}"),
            Self::LinkText { a, b } => format!("link to {a} in {a_name}, to {b} in {b_name}"),
            Self::Rdev { a, b } => pair("device number ", a, b),
            Self::Mode { a, b } => format!("mode {a:04o} in {a_name}, {b:04o} in {b_name}"),
            Self::Owner { a, b } => pair("owner ", a, b),
            Self::Group { a, b } => pair("group ", a, b),
            Self::Mtime { a, b } => pair("modification time ", a, b),
            Self::LinkGroup { a, b } => pair("", a, b),
            Self::Xattr { name, a, b } => {
                text_of_pair("extended attribute", name, [(a, a_name), (b, b_name)])
            }
            Self::Acl { name, a, b } => text_of_pair("ACL", name, [(a, a_name), (b, b_name)]),
            Self::Flags { a, b } => pair("flags ", &or_none(a), &or_none(b)),
            Self::Project { a, b } => pair("project ", a, b),
            Self::Blocks { a, b } => {
                let [a, b] = [a, b].map(|blocks| blocks.saturating_mul(512));
                format!("{a} bytes allocated in {a_name}, {b} in {b_name}")
            }
        }
    }
}

/// Shows the text with the names A and B.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("A", "B"))
    }
}

impl Difference {
    /// Returns a line without its end: the escaped path, and a text about the difference.
    #[must_use]
    pub fn line(&self, what: &str) -> String {
        format!("{}: {what}", shown(&self.path))
    }
}

/// Shows one escaped line without an end of line: `d/f: mode 0644 in A, 0600 in B`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(&self.what.to_string()))
    }
}

fn or_none(flags: &str) -> &str {
    if flags.is_empty() { "none" } else { flags }
}

fn in_brackets(kind: Option<Kind>) -> String {
    kind.map(|kind| format!(" ({kind})")).unwrap_or_default()
}

/// Shows the lengths of an attribute's values, because the values are rarely readable text.
fn text_of_pair(noun: &str, name: &RawText, values: [(&Option<RawText>, &str); 2]) -> String {
    let [(a, a_name), (b, b_name)] = values;
    match (a, b) {
        (Some(a), Some(b)) if a.0.len() == b.0.len() => {
            format!("{noun} {name} differs ({} bytes)", a.0.len())
        }
        (Some(a), Some(b)) => format!(
            "{noun} {name} differs ({} bytes in {a_name}, {} in {b_name})",
            a.0.len(),
            b.0.len()
        ),
        (Some(_), None) => format!("{noun} {name} only in {a_name}"),
        (None, Some(_)) => format!("{noun} {name} only in {b_name}"),
        (None, None) => format!("{noun} {name}"),
    }
}
