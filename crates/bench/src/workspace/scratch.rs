//! Scratch directories of a run.
//!
//! A run creates files only in a directory with a marker, which names the process and every entry.
//! A cleanup removes only the entries in the marker, and unmounts only the mounts of this run.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haul_sys::fs::{
    Follow, MountAccess, mkdirat, mount_id, mount_on, open_directory, try_lock, unmount_at,
};
use haul_sys::process::random;
use rustix::io::Errno;

use super::pinned::{Pinned, c_name};
use super::record::{MARKER_NAME, Owner, PREFIX, RANDOM_LETTERS, Record};
use super::sweep::{Found, empty, examine, own_folders, sweep};
use crate::error::{Error, Result};

/// A file system that is briefly busy (an indexer, a late close) is free after a fraction of a
/// second; a longer wait would not help.
const UNMOUNT_TRIES: u32 = 20;
const UNMOUNT_WAIT: Duration = Duration::from_millis(100);

/// A scratch directory of this run.
#[derive(Debug)]
pub(crate) struct Scratch {
    pinned: Pinned,
    /// The marker, open and locked until the run ends.
    marker: File,
    /// The entries that this run created in it.
    names: Vec<CString>,
    /// The mounts that this run made in it: mount point and mount id.
    mounts: Vec<(CString, Option<u64>)>,
    removed: bool,
}

/// What to mount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mountable<'a> {
    /// The device, or the source of a mount without one.
    pub(super) source: &'a str,
    /// The file system's name.
    pub(super) file_system: &'a str,
    pub(super) access: MountAccess,
    /// The file system's own options.
    pub(super) options: &'a CStr,
}

impl Scratch {
    /// Creates a directory with a new name in `base`.
    pub(crate) fn create(base: &Path) -> Result<Scratch> {
        let number = random::<4>().map_err(Error::call("find a name in", base))?;
        let (process, end) = (std::process::id(), u32::from_ne_bytes(number));
        let path = base.join(format!("{PREFIX}{process}-{end:0RANDOM_LETTERS$x}"));
        match Pinned::make(path.clone())? {
            Some(pinned) => Scratch::mark(pinned),
            None => Err(Error::file("create", &path)(Errno::EXIST.into())),
        }
    }

    /// Uses a directory that the user names: one that does not exist yet, which is removed in the
    /// end; an empty one, in which a directory is created; or one of a dead run.
    pub(crate) fn claim(path: &Path) -> Result<Scratch> {
        if let Some(pinned) = Pinned::make(path.to_owned())? {
            return Scratch::mark(pinned);
        }
        match examine(Pinned::named(path)?)? {
            Found::Stale(stale) => return Scratch::mark(stale.empty()?),
            Found::Busy { pid } => return Err(Error::BusyFolder { path: path.to_owned(), pid }),
            Found::Foreign => {}
        }
        let _removed = sweep(path);
        for (path, found) in own_folders(path) {
            if let Found::Busy { pid } = found {
                return Err(Error::BusyFolder { path, pid });
            }
        }
        Pinned::named(path)?.refuse_others(|_| false)?;
        Scratch::create(path)
    }

    /// Creates the marker in an empty directory.
    fn mark(pinned: Pinned) -> Result<Scratch> {
        let text = Record::first_text(Owner::this(), pinned.stat()?.ino);
        let path = pinned.path().join(super::MARKER);
        let mut marker = pinned.create_file(MARKER_NAME)?;
        // On file systems without locks, the process id shows that the directory is in use.
        let _locked = try_lock(&marker);
        marker.write_all(text.as_bytes()).map_err(Error::file("write", &path))?;
        Ok(Scratch { pinned, marker, names: Vec::new(), mounts: Vec::new(), removed: false })
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        self.pinned.path()
    }

    /// Returns whether no other user can redirect the directory's path.
    pub(super) fn has_safe_path(&self) -> Result<bool> {
        self.pinned.has_safe_path()
    }

    /// Returns the path of an entry for messages and tools.
    pub(super) fn inside(&self, name: &str) -> PathBuf {
        self.pinned.path().join(name)
    }

    /// Returns a path of an entry through the directory's descriptor, for this process and its
    /// children.
    pub(super) fn link(&self, name: &str) -> PathBuf {
        self.pinned.link().join(name)
    }

    /// Records that an entry is about to be created, and returns its name as a C string.
    pub(super) fn record(&mut self, name: &str) -> Result<CString> {
        let call_name = c_name(name)?;
        if !self.names.contains(&call_name) {
            let line = Record::line(name);
            let written = self.marker.write_all(line.as_bytes());
            written.map_err(Error::file("write", &self.inside(super::MARKER)))?;
            self.names.push(call_name.clone());
        }
        Ok(call_name)
    }

    /// Creates a file.
    pub(super) fn create_file(&mut self, name: &str) -> Result<File> {
        let name = self.record(name)?;
        self.pinned.create_file(&name)
    }

    /// Creates an unlinked file, which the kernel frees when this process ends.
    pub(crate) fn nameless_file(&mut self, name: &str) -> Result<File> {
        let file = self.create_file(name)?;
        self.remove_entry(name)?;
        Ok(file)
    }

    /// Creates a directory.
    pub(super) fn make_folder(&mut self, name: &str) -> Result<()> {
        let call_name = self.record(name)?;
        let made = mkdirat(self.pinned.folder(), &call_name, 0o700);
        made.map_err(Error::call("create", &self.inside(name)))
    }

    /// Removes an entry and everything below it; a missing entry is not an error.
    pub(super) fn remove_entry(&self, name: &str) -> Result<()> {
        self.pinned.remove(&c_name(name)?)
    }

    /// Mounts a file system on a directory, which is created if it does not exist.
    pub(super) fn mount(&mut self, point: &str, what: Mountable<'_>) -> Result<()> {
        let path = self.inside(point);
        match self.make_folder(point) {
            Err(Error::Call { error, .. }) if error.errno == Errno::EXIST => {}
            made => made?,
        }
        let (name, folder) = (c_name(point)?, self.pinned.folder());
        let on = open_directory(folder, &name, Follow::No).map_err(Error::call("open", &path))?;
        let (source, file_system) = (c_name(what.source)?, c_name(what.file_system)?);
        mount_on(&on, &source, &file_system, what.access, what.options)
            .map_err(Error::call("mount something on", &path))?;
        let id = mount_id(folder, &name).map_err(Error::call("stat", &path));
        // It is recorded even if its mount id is unknown, so that it is unmounted in any case.
        self.mounts.push((name, id.as_ref().ok().copied().flatten()));
        id.map(|_| ())
    }

    /// Unmounts the mounts of this run, the last first; retries briefly while one is busy.
    pub(super) fn unmount_all(&mut self) -> Result<()> {
        while let Some((name, id)) = self.mounts.last() {
            let path = self.inside(&name.to_string_lossy());
            let now = mount_id(self.pinned.folder(), name).map_err(Error::call("stat", &path))?;
            if id.is_some() && now != *id {
                return Err(Error::Exchanged(path));
            }
            let mut last = unmount_at(self.pinned.folder(), name);
            for _ in 1..UNMOUNT_TRIES {
                if !matches!(last, Err(error) if error.errno == Errno::BUSY) {
                    break;
                }
                std::thread::sleep(UNMOUNT_WAIT);
                last = unmount_at(self.pinned.folder(), name);
            }
            last.map_err(Error::call("unmount", &path))?;
            self.mounts.pop();
        }
        Ok(())
    }

    /// Removes the directory and everything that this run created in it; unmounts its mounts. A
    /// second call does nothing.
    pub(crate) fn remove(&mut self) -> Result<()> {
        if self.removed {
            return Ok(());
        }
        self.unmount_all()?;
        empty(&self.pinned, &self.names)?;
        self.pinned.remove_folder()?;
        self.removed = true;
        Ok(())
    }
}
