//! How much room a scenario takes, and whether there is so much: asked before anything is made.

use std::path::{Path, PathBuf};

use super::spec::{Backing, GroundSpec};
use crate::scenario::{Scenario, Volume};
use crate::trouble::{Result, Trouble};

/// How many times the corpus has to fit where file systems are images: as a template, as a source,
/// as a target, and in memory the latter two in the page cache of the mounted file system.
const COPIES_IN_RAM: u64 = 5;
const COPIES_ON_DISK: u64 = 3;

/// The journals and tables of three file systems.
const TABLES_BYTES: u64 = 1 << 30;

/// In a folder: a source, a target, and as much again to spare.
const COPIES_IN_FOLDER: u64 = 3;

/// What an entry takes in a folder besides its data.
const ENTRY_BYTES: u64 = 4096;

/// Room in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The place.
    pub path: PathBuf,
    /// What is needed there at most at one time.
    pub needed_bytes: u64,
    /// What there is.
    pub available_bytes: u64,
}

impl Space {
    /// Fails if there is less than is needed.
    ///
    /// # Errors
    ///
    /// [`Trouble::NoSpace`].
    pub fn require(self) -> Result<()> {
        let Space { path, needed_bytes, available_bytes } = self;
        if needed_bytes > available_bytes {
            return Err(Trouble::NoSpace { path, needed_bytes, available_bytes });
        }
        Ok(())
    }
}

/// Returns the room that a scenario takes on a ground, and what there is.
///
/// # Errors
///
/// The place cannot be asked.
pub fn space(ground: &GroundSpec, scenario: &Scenario) -> Result<Space> {
    let volume = scenario.volume();
    match ground {
        GroundSpec::Folder { path, .. } => folder_space(existing(path), volume),
        GroundSpec::Fresh { backing, .. } => {
            let path = match backing {
                Backing::Ram => Path::new(super::RAM),
                Backing::Disk(path) => path,
            };
            image_space(path, backing, volume)
        }
    }
}

/// Returns the nearest folder that is there already: the scratch folder itself is yet to be made.
fn existing(path: &Path) -> &Path {
    let found = path.ancestors().find(|ancestor| ancestor.is_dir());
    found.unwrap_or(Path::new("."))
}

/// Returns the bytes of one copy of a corpus in a folder.
pub(super) fn copy_bytes(volume: Volume) -> u64 {
    volume.block_bytes + volume.entries * ENTRY_BYTES
}

pub(super) fn folder_space(path: &Path, volume: Volume) -> Result<Space> {
    Ok(Space {
        path: path.to_owned(),
        needed_bytes: copy_bytes(volume) * COPIES_IN_FOLDER,
        available_bytes: available_bytes(path)?,
    })
}

pub(super) fn image_space(path: &Path, backing: &Backing, volume: Volume) -> Result<Space> {
    let free = available_bytes(path)?;
    let (copies, available_bytes) = match backing {
        Backing::Ram => (COPIES_IN_RAM, free.min(crate::measure::available_bytes())),
        Backing::Disk(_) => (COPIES_ON_DISK, free),
    };
    let needed_bytes = volume.block_bytes * copies + TABLES_BYTES;
    Ok(Space { path: path.to_owned(), needed_bytes, available_bytes })
}

/// Returns how many bytes an ordinary user may still write.
fn available_bytes(path: &Path) -> Result<u64> {
    let told = rustix::fs::statvfs(path);
    let told = told.map_err(|errno| Trouble::file("ask for the room of", path)(errno.into()))?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}
