//! Options of a comparison.

use serde::{Deserialize, Serialize};

use super::Aspects;
use crate::node::RootLinks;
use crate::text::RawText;

/// Whether the attributes of the two roots are compared like those of any other entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootAttributes {
    /// They are compared.
    #[default]
    Compare,
    /// Only kind and contents of the roots are compared: B may be a mount point, or a directory
    /// that existed before.
    Ignore,
}

/// Whether ranges that both sides report as holes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HolePolicy {
    /// They are skipped if both files have less allocated than their size needs, and both are on a
    /// file system whose reports are known to be reliable (ext4, XFS, btrfs, tmpfs, F2FS). A range
    /// that either side reports as data is read on both.
    #[default]
    SkipCommon,
    /// Every byte of both sides is read, holes too. The time depends on the file sizes.
    ReadAll,
}

/// Whether a difference counts that a file system causes because it cannot store what the other one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Every difference counts.
    #[default]
    Exact,
    /// Times are compared as the coarser side stores them, owners and permission bits only where both sides
    /// store them, and allocation between file systems of one kind. An ACL of NFS 4 that says what
    /// the permission bits say is none. [`crate::Summary::left_out`] counts what is left out.
    Stored,
}

/// Options of a comparison: what is compared, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareOptions {
    /// The aspects to compare.
    pub aspects: Aspects,
    /// Whether the roots' own attributes are compared.
    pub root_attributes: RootAttributes,
    /// Whether a symbolic link given as a root is followed.
    pub root_links: RootLinks,
    /// Whether common holes are read.
    pub holes: HolePolicy,
    /// Whether differences count that a perfect copy has, too.
    pub precision: Precision,
    /// Bytes that B may allocate for a file in addition to the rule of [`crate::What::Blocks`]; for
    /// file systems that preallocate or allocate in large units.
    pub block_slack_bytes: u64,
    /// Extended attributes whose names begin with one of these are not compared, such as
    /// `security.selinux`.
    pub ignored_xattr_prefixes: Vec<RawText>,
}

impl CompareOptions {
    /// Returns options that compare `aspects`, with defaults for everything else.
    #[must_use]
    pub fn new(aspects: Aspects) -> Self {
        Self { aspects, ..Self::default() }
    }
}
