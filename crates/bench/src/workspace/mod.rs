//! The workspace of runs: a fresh file system for each run, or else a fresh directory.
//!
//! The history of a file system affects its speed. ext4 does not reuse an inode for minutes after
//! it was freed, and skips such inodes one by one, so that the second copy of a tree can take
//! twenty times as long as the first; other file systems fragment, or balance in the background.
//! Therefore each run gets a copy of one image in which no file was ever deleted.

mod directory_workspace;
mod helper;
mod image;
mod image_workspace;
mod mounts;
mod pinned;
mod record;
mod scratch;
mod space;
mod spec;
mod storage;
mod sweep;
mod tmpfs_workspace;

pub(crate) use directory_workspace::DirectoryWorkspace;
pub(crate) use image_workspace::ImageWorkspace;
pub(crate) use mounts::hide_mounts;
pub(crate) use scratch::Scratch;
pub(crate) use tmpfs_workspace::TmpfsWorkspace;

pub use mounts::file_system_of;
pub use record::MARKER;
pub use space::{Space, space};
pub use spec::{Backing, ColdMeans, FileSystem, GroundFacts, GroundSpec, SpecError};
pub use storage::{Storage, storage_of};
pub use sweep::{Swept, sweep};

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use haul_sys::fs::BlockDevice;

use crate::error::Result;
use crate::scenario::Scenario;

/// The directory of a file system in memory.
pub(crate) const RAM: &str = "/dev/shm";

/// The paths of one run.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The source of a copy; for a deletion, the tree to delete.
    pub(crate) source: PathBuf,
    /// The path of the copy; for a deletion, the tree to delete.
    pub(crate) target: PathBuf,
    /// The device below the target, if it has counters.
    pub(crate) device: Option<BlockDevice>,
}

/// A workspace that gives each run the same initial state.
pub(crate) trait Workspace {
    /// Creates the initial state of all runs of a scenario.
    fn prepare(&mut self, scenario: &Scenario, interrupt: &AtomicBool) -> Result<()>;

    /// Creates the site of one run. No part of the source is cached, unless [`Workspace::cool`]
    /// reports otherwise.
    fn fresh(&mut self, interrupt: &AtomicBool) -> Result<Site>;

    /// Drops the source of a fresh site from the page cache, and returns the number of pages that
    /// stayed; `None` if that is unknown.
    fn cool(&mut self, site: &Site, interrupt: &AtomicBool) -> Result<Option<u64>>;

    /// Returns the properties of the workspace, as observed at the last fresh site.
    fn facts(&self) -> GroundFacts;

    /// Removes the site of one run. May be called at any time.
    fn clear(&mut self) -> Result<()>;

    /// Removes everything that [`Workspace::prepare`] created. May be called at any time.
    fn finish(&mut self) -> Result<()>;
}
