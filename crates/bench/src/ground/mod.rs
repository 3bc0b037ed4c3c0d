//! Where runs take place: a fresh file system for each, or else a fresh folder.
//!
//! A file system remembers. ext4 does not give out an inode again for minutes after it was freed,
//! and looks past such inodes one by one, so that the second copy of a tree can take twenty times
//! as long as the first; other file systems fragment, or balance in the background. Therefore each
//! run gets a copy of one image, in which nothing has ever been deleted.

mod folder;
mod held;
mod helper;
mod image;
mod image_ground;
mod mounts;
mod record;
mod scratch;
mod space;
mod spec;
mod sweep;
mod tmpfs_ground;

pub(crate) use folder::FolderGround;
pub(crate) use image_ground::ImageGround;
pub(crate) use mounts::{Mount, hide_mounts};
pub(crate) use scratch::Scratch;
pub(crate) use tmpfs_ground::TmpfsGround;

pub use mounts::file_system_of;
pub use record::MARKER;
pub use space::{Space, space};
pub use spec::{Backing, ColdMeans, FileSystem, GroundFacts, GroundSpec, SpecError};
pub use sweep::{Swept, sweep};

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::measure::Device;
use crate::scenario::Scenario;
use crate::trouble::Result;

/// Where memory is a file system.
pub(crate) const RAM: &str = "/dev/shm";

/// The paths of one run.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// What is copied; for a deletion, what is deleted.
    pub(crate) source: PathBuf,
    /// What the copy will be called; for a deletion, what is deleted.
    pub(crate) target: PathBuf,
    /// The device below the target, if it has counters.
    pub(crate) device: Option<Device>,
}

/// A place that gives each run the same ground.
pub(crate) trait Ground {
    /// Makes what all runs of a scenario start from.
    fn prepare(&mut self, scenario: &Scenario, interrupt: &AtomicBool) -> Result<()>;

    /// Makes the ground of one run. Nothing of the source is cached, unless [`Ground::cool`] says
    /// otherwise.
    fn fresh(&mut self, interrupt: &AtomicBool) -> Result<Site>;

    /// Takes the source of a fresh ground out of the cache as far as it is in it, and returns how
    /// many pages stayed; `None` where that cannot be told.
    fn cool(&mut self, site: &Site, interrupt: &AtomicBool) -> Result<Option<u64>>;

    /// Tells what the ground is, as seen in the last fresh one.
    fn facts(&self) -> GroundFacts;

    /// Takes away the ground of one run. May be called at any time.
    fn clear(&mut self) -> Result<()>;

    /// Takes away everything that [`Ground::prepare`] made. May be called at any time.
    fn finish(&mut self) -> Result<()>;
}
