//! An archive that a signal or an error leaves unfinished: what readers could take for a complete one is removed.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use haul_io::last_check::{LastNames, Stays};
use haul_sys::Errno;
use haul_sys::data::ftruncate;
use haul_sys::fs::{CWD, Follow, Kind, OpenHow, fstat, openat};
use haul_sys::process::{die_by, stop_signal};

use crate::escape::quote;

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
    /// Its directory and its name there, if the run made the file.
    made: Option<(OwnedFd, CString)>,
}

impl Unfinished {
    /// Makes an archive, or empties the file of that name.
    pub(super) fn create(name: &Path) -> io::Result<Unfinished> {
        let place = place_of(name);
        let created = File::options().write(true).create_new(true).open(name);
        let (file, made) = match created {
            Ok(file) => (file, Some(place?)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (File::create(name)?, None)
            }
            Err(error) => return Err(error),
        };
        Ok(Unfinished { file: Arc::new(file.into()), made })
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
        if let Some((directory, name)) = &self.made {
            let place = (directory.as_fd(), name.as_c_str());
            match LastNames::default().remove_same(place, &stat) {
                Ok(()) => return Ok(()),
                // It has another name, or none.
                Err(Stays::Changed) => {}
                Err(Stays::Failed(error)) if error.errno == Errno::NOENT => {}
                Err(Stays::Failed(error)) => return Err(error.errno.into()),
                Err(Stays::Beside(other)) => {
                    ftruncate(&*self.file, 0).map_err(|error| io::Error::from(error.errno))?;
                    return Err(io::Error::other(format!(
                        "another file got its name meanwhile, and is {} now",
                        quote(other.name.to_bytes())
                    )));
                }
            }
        }
        ftruncate(&*self.file, 0).map_err(|error| error.errno.into())
    }
}

/// Opens the directory of a path, and returns it with the name there.
fn place_of(path: &Path) -> io::Result<(OwnedFd, CString)> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = CString::new(parent.as_os_str().as_bytes())?;
    let how = OpenHow::HANDLE.following(Follow::Yes);
    let directory = openat(CWD, &directory, how).map_err(|error| io::Error::from(error.errno))?;
    Ok((directory, CString::new(name.as_bytes())?))
}
