//! Folders that are removed at the end of a test, whatever they contain.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::remove_tree;

use super::run::{Call, haul};
use super::volume::Volume;
use super::{Outcome, entries};

/// A folder for one test.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder below the build directory.
    pub(crate) fn new() -> Outcome<Self> {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// Makes a folder that every user can reach: a checkout may be below a closed home.
    pub(crate) fn public() -> Outcome<Self> {
        Self::below(&std::env::temp_dir())
    }

    /// Makes a folder on a test file system.
    pub(crate) fn on(volume: &Volume) -> Outcome<Self> {
        Self::below(&volume.path)
    }

    /// Makes a folder in another.
    pub(crate) fn below(parent: &Path) -> Outcome<Self> {
        let dir = tempfile::Builder::new().prefix("haul-test-").tempdir_in(parent)?;
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        // The standard library cannot remove the trees of these tests.
        Ok(Self { path: dir.keep() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of an entry.
    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Removes an entry if it exists, so that a step can be repeated.
    pub(crate) fn clear(&self, name: &str) -> Outcome {
        let path = self.at(name);
        if path.symlink_metadata().is_ok() {
            remove_tree(&path).map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }

    /// Removes everything in it, so that a step can be repeated.
    pub(crate) fn clear_all(&self) -> Outcome {
        for entry in entries(&self.path)? {
            remove_tree(&entry.path()).map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }

    /// Writes a file, and creates the directories above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Outcome<PathBuf> {
        let path = self.at(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Copies the program under test, for users who cannot reach the build directory.
    ///
    /// Another process writes the file: a child that another test starts has this process's descriptors
    /// until it executes its program, and as long as a process has a file open for writing, the kernel refuses
    /// to execute it (`ETXTBSY`).
    pub(crate) fn program(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.at(name);
        Call::of("cp").words([haul(), path.clone()]).succeed()?;
        Ok(path)
    }

    /// Writes a program for a shell, in the same way.
    pub(crate) fn script(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.at(name);
        let install = Call::of("install").words(["-m", "755", "/dev/stdin"]).word(&path);
        install.input(text).succeed()?;
        Ok(path)
    }
}

/// Removes the folder. Trees may be too deep, or too restricted, for the standard library.
impl Drop for Scratch {
    fn drop(&mut self) {
        let result = remove_tree(&self.path);
        // A failure while panicking adds no information.
        if !std::thread::panicking() {
            assert_eq!(result, Ok(()), "{}", self.path.display());
        }
    }
}
