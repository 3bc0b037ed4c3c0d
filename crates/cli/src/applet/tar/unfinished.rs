//! An archive that a signal or an error leaves unfinished: what readers could take for a complete one is removed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, fstat};
use haul_sys::process::{die_by, stop_signal};

/// Fails if a signal asks the run to end.
pub(super) fn demand_running() -> io::Result<()> {
    match stop_signal() {
        Some(_) => Err(io::Error::other("interrupted")),
        None => Ok(()),
    }
}

/// Ends the process by the signal that asked for it, if one did.
pub(super) fn die_if_asked() {
    if let Some(signal) = stop_signal() {
        die_by(signal);
    }
}

/// An archive that is written in its place, until it is complete.
pub(super) struct Unfinished {
    file: Arc<OwnedFd>,
    name: PathBuf,
    /// Whether the run made the file.
    is_new: bool,
}

impl Unfinished {
    /// Makes an archive, or empties the file of that name.
    pub(super) fn create(name: &Path) -> io::Result<Unfinished> {
        let made = File::options().write(true).create_new(true).open(name);
        let (file, is_new) = match made {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (File::create(name)?, false)
            }
            Err(error) => return Err(error),
        };
        Ok(Unfinished { file: Arc::new(file.into()), name: name.to_owned(), is_new })
    }

    /// Returns the open archive.
    pub(super) fn file(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Removes the archive if the run made it and it has its name, or else empties it. Pipes and devices have what
    /// they got.
    pub(super) fn discard(self) -> io::Result<()> {
        let stat = fstat(&*self.file).map_err(|error| io::Error::from(error.errno))?;
        if stat.kind() != Kind::Regular {
            return Ok(());
        }
        let named = std::fs::symlink_metadata(&self.name);
        let is_named = named.is_ok_and(|named| (named.dev(), named.ino()) == (stat.dev, stat.ino));
        match self.is_new && is_named {
            true => std::fs::remove_file(&self.name),
            false => ftruncate(&*self.file, 0).map_err(|error| error.errno.into()),
        }
    }
}
