//! The items of a generated tree, before they are on disk.
//!
//! A tree is a sequence of items in depth-first order. Each item has its depth, so that a corpus of
//! millions of files streams from its recipe to disk and no tree is ever in memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::segments::Segment;
use crate::text::RawText;
use crate::values::{Rdev, Timestamp};
use crate::xattrs::Xattr;

/// One entry to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its depth: 1 for an entry of the root. At most one more than that of the directory before
    /// it, or at most that of any other item before it.
    pub depth: usize,
    /// Its name.
    pub name: RawText,
    /// What it is.
    pub kind: ItemKind,
    /// The 12 permission bits; unused for a symbolic or hard link.
    pub mode: u16,
    /// The modification time; unused for a hard link.
    pub mtime: Timestamp,
    /// User and group; `None` for those of this process.
    pub owner: Option<(u32, u32)>,
    /// Extended attributes with ACLs and capabilities in their raw form. Only regular files and
    /// directories can have attributes outside the `trusted` and `security` namespaces.
    pub xattrs: Vec<Xattr>,
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A directory; deeper items that follow are in it.
    Directory,
    /// A regular file.
    Regular(Body),
    /// A symbolic link with this text.
    Symlink(RawText),
    /// Another name of an earlier item, given by its path relative to the root.
    HardLink(RawText),
    /// A named pipe.
    Fifo,
    /// A socket without a listener.
    Socket,
    /// A block device.
    BlockDevice(Rdev),
    /// A character device.
    CharDevice(Rdev),
}

/// The contents of a regular file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The size in bytes.
    pub size: u64,
    /// The data segments, in order; the rest are holes. Nothing is written beyond `size`.
    pub data: Vec<Segment>,
    /// The seed of the bytes.
    pub seed: u64,
}

impl Body {
    /// Returns contents without holes.
    #[must_use]
    pub fn dense(size: u64, seed: u64) -> Self {
        let data = if size == 0 { Vec::new() } else { vec![Segment { offset: 0, length: size }] };
        Self { size, data, seed }
    }
}

impl Item {
    /// Returns an item with the usual attributes: mode 0755 for directories and 0644 for others,
    /// no extended attributes, and 2020-09-13 12:26:40 UTC for a time.
    #[must_use]
    pub fn new(depth: usize, name: impl Into<RawText>, kind: ItemKind) -> Self {
        let mode = if kind == ItemKind::Directory { 0o755 } else { 0o644 };
        let mtime = Timestamp { seconds: 1_600_000_000, nanoseconds: 0 };
        Self { depth, name: name.into(), kind, mode, mtime, owner: None, xattrs: Vec::new() }
    }
}

/// Features that a file system or user may lack, or that a test may exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Named pipes.
    Fifo,
    /// Sockets.
    Socket,
    /// Block and character devices; only root may create them.
    Device,
    /// Several names of one inode.
    HardLink,
    /// Symbolic links.
    Symlink,
    /// Files with holes.
    Sparse,
    /// Names that are not plain ASCII words.
    OddName,
    /// Modes like 000 and setuid, which only root can access or preserve.
    OddMode,
    /// Times before 1970 and after 2106.
    OddTime,
    /// Foreign owners; only root may change owners.
    Owner,
    /// Extended attributes of the `user` namespace.
    Xattr,
    /// POSIX ACLs.
    Acl,
    /// File capabilities; only root may set them.
    Capability,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "FIFOs",
            Self::Socket => "sockets",
            Self::Device => "devices",
            Self::HardLink => "hard links",
            Self::Symlink => "symbolic links",
            Self::Sparse => "sparse files",
            Self::OddName => "odd names",
            Self::OddMode => "odd modes",
            Self::OddTime => "odd times",
            Self::Owner => "foreign owners",
            Self::Xattr => "extended attributes",
            Self::Acl => "ACLs",
            Self::Capability => "capabilities",
        })
    }
}
