//! Which ground is asked for, and what it turned out to be.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A file system that can be made afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// tmpfs, which is memory and has no device.
    Tmpfs,
}

impl FileSystem {
    /// All of them.
    pub const ALL: [FileSystem; 4] =
        [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs, FileSystem::Tmpfs];

    /// Returns the name that `mount -t` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
            FileSystem::Tmpfs => "tmpfs",
        }
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Says that a text names no file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = FileSystem::ALL.map(FileSystem::name).join(", ");
        write!(
            f,
            "no file system {:?} can be made; known are {names}, and pairs of them: xfs:ext4",
            self.0
        )
    }
}

impl std::error::Error for SpecError {}

impl FromStr for FileSystem {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<FileSystem, SpecError> {
        let found = FileSystem::ALL.into_iter().find(|each| each.name() == text);
        found.ok_or_else(|| SpecError(text.to_owned()))
    }
}

/// What holds the images of fresh file systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// Memory: measures the kernel's work and no device.
    Ram,
    /// A folder on a disk, past whose file system the images are read and written directly.
    Disk(PathBuf),
}

/// How the source is taken out of the cache, where the ground is not fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColdMeans {
    /// File by file with `posix_fadvise`, checked with `cachestat`; names and inodes stay cached.
    Advise,
    /// With `/proc/sys/vm/drop_caches`: everything, of everybody. Needs root.
    DropCaches,
}

/// Which ground is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundSpec {
    /// A fresh file system for each run. Needs root.
    Fresh {
        /// The file system of the target.
        target: FileSystem,
        /// The file system of the source, if that is to be another one.
        source: Option<FileSystem>,
        /// What holds both.
        backing: Backing,
    },
    /// A fresh folder for each run, on a file system that is there already.
    Folder {
        /// The scratch folder: it is not there yet, or empty, or has our marker.
        path: PathBuf,
        /// How to cool it.
        cold: ColdMeans,
    },
}

impl GroundSpec {
    /// Reads `ext4`, or `xfs:ext4` for a copy from XFS to ext4.
    ///
    /// # Errors
    ///
    /// No such file system can be made.
    pub fn fresh(text: &str, backing: Backing) -> Result<GroundSpec, SpecError> {
        let (source, target) = match text.split_once(':') {
            Some((source, target)) => (Some(source.parse()?), target.parse()?),
            None => (None, text.parse()?),
        };
        Ok(GroundSpec::Fresh { target, source, backing })
    }
}

/// What the ground turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundFacts {
    /// What it is called in tables, such as `ext4 in RAM`.
    pub name: String,
    /// The source's file system, if it is not the target's.
    pub source_file_system: Option<String>,
    /// The target's file system.
    pub file_system: String,
    /// The target's mount options.
    pub mount_options: String,
    /// What is below: `loop device over …`, or the device's name.
    pub device: String,
    /// What a reader must know before believing any figure.
    pub warnings: Vec<String>,
}
