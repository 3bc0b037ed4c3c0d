//! Folders that are gone when the test is over, whatever it left in them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::remove_tree;

use super::volume::Volume;
use super::{Outcome, entries};

/// A folder of the test's own.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A folder beside the build's other products.
    pub(crate) fn new() -> Outcome<Self> {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// A folder that every user can reach: a checkout may lie below a closed home.
    pub(crate) fn public() -> Outcome<Self> {
        Self::below(&std::env::temp_dir())
    }

    /// A folder on a test file system.
    pub(crate) fn on(volume: &Volume) -> Outcome<Self> {
        Self::below(&volume.path)
    }

    /// A folder in another.
    pub(crate) fn below(parent: &Path) -> Outcome<Self> {
        let dir = tempfile::Builder::new().prefix("haul-test-").tempdir_in(parent)?;
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        // The standard library cannot remove what these tests make, so it is not asked to.
        Ok(Self { path: dir.keep() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of an entry.
    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Removes an entry if it is there, so that a step can be made again.
    pub(crate) fn clear(&self, name: &str) -> Outcome {
        let path = self.at(name);
        if path.symlink_metadata().is_ok() {
            remove_tree(&path).map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }

    /// Removes everything in it, so that a step can be made again.
    pub(crate) fn clear_all(&self) -> Outcome {
        for entry in entries(&self.path)? {
            remove_tree(&entry.path()).map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Outcome<PathBuf> {
        let path = self.at(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, bytes)?;
        Ok(path)
    }
}

/// Trees may be too deep, or too locked, for the standard library to remove.
impl Drop for Scratch {
    fn drop(&mut self) {
        let result = remove_tree(&self.path);
        // A failure while panicking says nothing new.
        if !std::thread::panicking() {
            assert_eq!(result, Ok(()), "{}", self.path.display());
        }
    }
}
