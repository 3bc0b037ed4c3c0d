//! Output files: reports and profiles.
//!
//! Root often writes them into directories where other users may create files. So no existing file
//! is opened for writing, and none but a regular one for reading: a new file gets the name when it is
//! complete, and a symbolic link of that name is replaced, not followed.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, RenameMode, fstat, fsync, open_directory, openat, renameat,
    unlinkat,
};
use haul_sys::process::random;

use crate::error::{Error, Result};

/// A directory for output files.
#[derive(Debug)]
pub(crate) struct Publisher {
    path: PathBuf,
    folder: OwnedFd,
}

fn call_name(name: &[u8]) -> Result<CString> {
    CString::new(name).map_err(|_| Error::Unfit("a name has a zero byte in it"))
}

impl Publisher {
    /// Opens a directory, which is created if it does not exist.
    pub(crate) fn new(path: &Path) -> Result<Publisher> {
        std::fs::create_dir_all(path).map_err(Error::file("create", path))?;
        let name = call_name(path.as_os_str().as_encoded_bytes())?;
        let folder = open_directory(CWD, &name, Follow::Yes).map_err(Error::call("open", path))?;
        Ok(Publisher { path: path.to_owned(), folder })
    }

    /// Fails if no file can be created in the directory.
    pub(crate) fn probe(&self) -> Result<()> {
        let (name, _file) = self.new_file()?;
        self.remove(&name)
    }

    /// Reads a regular file, of which it takes at most 64 MiB. Does not follow links.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        const MOST_BYTES: u64 = 64 << 20;
        // The open does not wait for the writer of a FIFO.
        let fd = openat(&self.folder, &call_name(name.as_bytes()).ok()?, OpenHow::READ).ok()?;
        if fstat(&fd).ok()?.kind() != Kind::Regular {
            return None;
        }
        let mut bytes = Vec::new();
        File::from(fd).take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Writes a file. An existing file is replaced atomically, so that a reader sees the old one or
    /// the new one.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        let (temporary, mut file) = self.new_file()?;
        let written = file.write_all(text.as_bytes()).map_err(Error::file("write", &path));
        let done = written
            .and_then(|()| fsync(&file).map_err(Error::call("sync", &path)))
            .and_then(|()| {
                let (folder, name) = (&self.folder, call_name(name.as_bytes())?);
                renameat(folder, &temporary, folder, &name, RenameMode::Replace)
                    .map_err(Error::call("replace", &path))
            });
        if done.is_err() {
            // The first failure is the one to report.
            let _removed = self.remove(&temporary);
        }
        done
    }

    fn new_file(&self) -> Result<(CString, File)> {
        let number = random::<8>().map_err(Error::call("find a name in", &self.path))?;
        let name = format!(".haul-bench-{:016x}", u64::from_ne_bytes(number));
        let name = call_name(name.as_bytes())?;
        let made = openat(&self.folder, &name, OpenHow::new_file(0o666));
        Ok((name, File::from(made.map_err(Error::call("write in", &self.path))?)))
    }

    fn remove(&self, name: &CStr) -> Result<()> {
        unlinkat(&self.folder, name).map_err(Error::call("remove a file in", &self.path))
    }
}
