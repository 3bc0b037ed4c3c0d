//! The requested workspace, and its actual properties.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A file system that can be created for a run.
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

/// The error of a text that names no supported file system.
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

/// The storage of the images of fresh file systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// Memory: measures the kernel's work and no device.
    Ram,
    /// A directory on a disk; the images are read and written with direct I/O.
    Disk(PathBuf),
}

/// How the source is dropped from the cache, if the workspace is not fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColdMeans {
    /// File by file with `posix_fadvise`, checked with `cachestat`; names and inodes stay cached.
    Advise,
    /// With `/proc/sys/vm/drop_caches`: drops the whole cache of the machine. Needs root.
    DropCaches,
}

/// The requested workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundSpec {
    /// A fresh file system for each run. Needs root.
    Fresh {
        /// The file system of the target.
        target: FileSystem,
        /// The file system of the source, if it should differ.
        source: Option<FileSystem>,
        /// The storage of both, or of the source alone.
        backing: Backing,
        /// The directory of the target's image, if it should be on another device.
        to: Option<PathBuf>,
    },
    /// A fresh directory for each run, on an existing file system.
    Folder {
        /// The scratch directory: it does not exist yet, is empty, or has a marker of haul.
        path: PathBuf,
        /// The scratch directory of the targets, if they should be elsewhere; likewise.
        to: Option<PathBuf>,
        /// How to drop it from the cache.
        cold: ColdMeans,
    },
}

impl GroundSpec {
    /// Returns the same workspace with targets in another directory. Copies between images are copies between two file
    /// systems then, even if both are of one kind.
    #[must_use]
    pub fn to(self, to: Option<PathBuf>) -> GroundSpec {
        match self {
            GroundSpec::Fresh { target, source, backing, .. } => {
                let source = source.or(to.is_some().then_some(target));
                GroundSpec::Fresh { target, source, backing, to }
            }
            GroundSpec::Folder { path, cold, .. } => GroundSpec::Folder { path, to, cold },
        }
    }

    /// Parses `ext4`, or `xfs:ext4` for a copy from XFS to ext4.
    ///
    /// # Errors
    ///
    /// The file system is unknown.
    pub fn fresh(text: &str, backing: Backing) -> Result<GroundSpec, SpecError> {
        let (source, target) = match text.split_once(':') {
            Some((source, target)) => (Some(source.parse()?), target.parse()?),
            None => (None, text.parse()?),
        };
        Ok(GroundSpec::Fresh { target, source, backing, to: None })
    }
}

/// The actual properties of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundFacts {
    /// Its name in tables, such as `ext4 in RAM`.
    pub name: String,
    /// The source's file system, if it differs from the target's.
    pub source_file_system: Option<String>,
    /// The target's file system.
    pub file_system: String,
    /// The target's mount options.
    pub mount_options: String,
    /// The underlying storage: `loop device over …`, or the device's name.
    pub device: String,
    /// Warnings that apply to all figures.
    pub warnings: Vec<String>,
}
