//! The space that a scenario needs, checked before any file is created.

use std::path::{Path, PathBuf};

use super::spec::{Backing, GroundSpec};
use crate::error::{Error, Result};
use crate::scenario::{Scenario, Volume};

/// How many copies of the corpus must fit if file systems are images: a template, a source, a
/// target, and in memory the latter two again in the page cache of the mounted file system.
const COPIES_IN_RAM: u64 = 5;
const COPIES_ON_DISK: u64 = 3;

/// The journals and tables of three file systems.
const TABLES_BYTES: u64 = 1 << 30;

/// In a directory: a source, a target, and the same again as reserve.
const COPIES_IN_FOLDER: u64 = 3;

/// Space of an entry in a directory besides its data.
const ENTRY_BYTES: u64 = 4096;

/// Space in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The place.
    pub path: PathBuf,
    /// Maximum bytes needed there at one time.
    pub needed_bytes: u64,
    /// Available bytes.
    pub available_bytes: u64,
}

impl Space {
    /// Fails if less is available than is needed.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`].
    pub fn require(self) -> Result<()> {
        let Space { path, needed_bytes, available_bytes } = self;
        if needed_bytes > available_bytes {
            return Err(Error::NoSpace { path, needed_bytes, available_bytes });
        }
        Ok(())
    }
}

/// Returns the space that a scenario needs in a workspace, and the available space.
///
/// # Errors
///
/// The free space cannot be read.
pub fn space(ground: &GroundSpec, scenario: &Scenario) -> Result<Space> {
    match ground {
        // Of two places, that of the targets needs more.
        GroundSpec::Folder { path, to, .. } => {
            folder_space(existing(to.as_deref().unwrap_or(path)), scenario)
        }
        GroundSpec::Fresh { to: Some(to), .. } => {
            image_space(to, &Backing::Disk(to.clone()), scenario)
        }
        GroundSpec::Fresh { backing, .. } => {
            let path = match backing {
                Backing::Ram => Path::new(super::RAM),
                Backing::Disk(path) => path,
            };
            image_space(path, backing, scenario)
        }
    }
}

/// Returns the nearest existing directory: the scratch directory itself is not created yet.
fn existing(path: &Path) -> &Path {
    let found = path.ancestors().find(|ancestor| ancestor.is_dir());
    found.unwrap_or(Path::new("."))
}

/// Returns the bytes of one copy of a corpus in a directory.
pub(super) fn copy_bytes(volume: Volume) -> u64 {
    volume.block_bytes + volume.entries * ENTRY_BYTES
}

pub(super) fn folder_space(path: &Path, scenario: &Scenario) -> Result<Space> {
    let copies = COPIES_IN_FOLDER + u64::from(scenario.at_once() - 1);
    Ok(Space {
        path: path.to_owned(),
        needed_bytes: copy_bytes(scenario.volume()) * copies,
        available_bytes: available_bytes(path)?,
    })
}

pub(super) fn image_space(path: &Path, backing: &Backing, scenario: &Scenario) -> Result<Space> {
    let free = available_bytes(path)?;
    let more = u64::from(scenario.at_once() - 1);
    let (copies, available_bytes) = match backing {
        // A target is in its image and in the page cache.
        Backing::Ram => (COPIES_IN_RAM + 2 * more, free.min(crate::measure::available_bytes())),
        Backing::Disk(_) => (COPIES_ON_DISK + more, free),
    };
    let needed_bytes = scenario.volume().block_bytes * copies + TABLES_BYTES;
    Ok(Space { path: path.to_owned(), needed_bytes, available_bytes })
}

/// Returns how many bytes an ordinary user may still write.
fn available_bytes(path: &Path) -> Result<u64> {
    let space = rustix::fs::statvfs(path);
    let space = space.map_err(|errno| Error::file("read the free space of", path)(errno.into()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}
