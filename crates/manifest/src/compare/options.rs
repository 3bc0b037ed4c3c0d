//! How a comparison is done.

use serde::{Deserialize, Serialize};

use super::Aspects;
use crate::node::RootLinks;
use crate::text::RawText;

/// Says whether the attributes of the two roots are compared like those of any other entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootAttributes {
    /// They count.
    #[default]
    Compare,
    /// Only kind and contents of the roots count: B may be a mount point, or a directory that was
    /// there before.
    Ignore,
}

/// Says whether ranges that both sides report as holes are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HolePolicy {
    /// They are skipped if both files have less allocated than their size needs, and both are on
    /// a file system whose reports are known to be true (ext4, XFS, btrfs, tmpfs, F2FS). What
    /// either side reports as data is read on both.
    #[default]
    SkipCommon,
    /// Every byte of both sides is read, holes too. Takes as long as the sizes say.
    ReadAll,
}

/// Says what is compared, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareOptions {
    /// What counts.
    pub aspects: Aspects,
    /// Whether the roots' own attributes count.
    pub root_attributes: RootAttributes,
    /// What a symbolic link given as a root stands for.
    pub root_links: RootLinks,
    /// Whether common holes are read.
    pub holes: HolePolicy,
    /// What B may allocate for a file beyond the rule of [`crate::What::Blocks`], in bytes; for
    /// file systems that allocate ahead or in large units.
    pub block_slack_bytes: u64,
    /// Extended attributes whose names begin with one of these are not compared, such as
    /// `security.selinux`.
    pub ignored_xattr_prefixes: Vec<RawText>,
}

impl CompareOptions {
    /// Compares `aspects`, with everything else as by default.
    #[must_use]
    pub fn new(aspects: Aspects) -> Self {
        Self { aspects, ..Self::default() }
    }
}
