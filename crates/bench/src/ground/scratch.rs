//! Folders that are ours.
//!
//! Whatever is made lies in a folder with a marker, which names the process and everything that it
//! makes. Only what is named there is removed, and only what this run has mounted is unmounted.

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

use super::held::{Held, c_name};
use super::record::{MARKER_NAME, Owner, PREFIX, RANDOM_LETTERS, Record};
use super::sweep::{Found, empty, examine, own_folders, sweep};
use crate::trouble::{Result, Trouble};

/// A file system that was busy for a moment (an indexer, a late close) is free after a fraction of
/// a second; one that is not will not be.
const UNMOUNT_TRIES: u32 = 20;
const UNMOUNT_WAIT: Duration = Duration::from_millis(100);

/// A folder that is ours.
#[derive(Debug)]
pub(crate) struct Scratch {
    held: Held,
    /// Open and locked as long as we live.
    marker: File,
    /// What we have made in it.
    names: Vec<CString>,
    /// What we have mounted in it: where, and the mount's number.
    mounts: Vec<(CString, Option<u64>)>,
    removed: bool,
}

/// What is to be mounted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mountable<'a> {
    /// The device, or what stands in its place.
    pub(super) source: &'a str,
    /// The file system's name.
    pub(super) file_system: &'a str,
    pub(super) access: MountAccess,
    /// The file system's own options.
    pub(super) options: &'a CStr,
}

impl Scratch {
    /// Makes a folder with a new name in `base`.
    pub(crate) fn create(base: &Path) -> Result<Scratch> {
        let number = random::<4>().map_err(Trouble::call("find a name in", base))?;
        let (process, end) = (std::process::id(), u32::from_ne_bytes(number));
        let path = base.join(format!("{PREFIX}{process}-{end:0RANDOM_LETTERS$x}"));
        match Held::make(path.clone())? {
            Some(held) => Scratch::mark(held),
            None => Err(Trouble::file("create", &path)(Errno::EXIST.into())),
        }
    }

    /// Takes a folder that the user names: one that is not there yet, which is removed in the end;
    /// one that is empty, in which a folder is made; or one of a run that is gone.
    pub(crate) fn claim(path: &Path) -> Result<Scratch> {
        if let Some(held) = Held::make(path.to_owned())? {
            return Scratch::mark(held);
        }
        match examine(Held::named(path)?)? {
            Found::Stale(stale) => return Scratch::mark(stale.empty()?),
            Found::Busy { pid } => return Err(Trouble::BusyFolder { path: path.to_owned(), pid }),
            Found::Foreign => {}
        }
        let _removed = sweep(path);
        for (path, found) in own_folders(path) {
            if let Found::Busy { pid } = found {
                return Err(Trouble::BusyFolder { path, pid });
            }
        }
        Held::named(path)?.refuse_others(|_| false)?;
        Scratch::create(path)
    }

    /// Puts the marker into an empty folder.
    fn mark(held: Held) -> Result<Scratch> {
        let text = Record::first_text(Owner::this(), held.stat()?.ino);
        let path = held.path().join(super::MARKER);
        let mut marker = held.create_file(MARKER_NAME)?;
        // Where there are no locks, the number of the process says that the folder is in use.
        let _locked = try_lock(&marker);
        marker.write_all(text.as_bytes()).map_err(Trouble::file("write", &path))?;
        Ok(Scratch { held, marker, names: Vec::new(), mounts: Vec::new(), removed: false })
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        self.held.path()
    }

    /// Says whether nobody else can make the folder's path lead elsewhere.
    pub(super) fn has_safe_path(&self) -> Result<bool> {
        self.held.has_safe_path()
    }

    /// Returns the path of an entry, as people and tools see it.
    pub(super) fn inside(&self, name: &str) -> PathBuf {
        self.held.path().join(name)
    }

    /// Returns a path of an entry that leads through the folder's descriptor, for this process and
    /// the programs that it starts.
    pub(super) fn link(&self, name: &str) -> PathBuf {
        self.held.link().join(name)
    }

    /// Writes down that an entry is about to be made, and returns its name for calls.
    pub(super) fn record(&mut self, name: &str) -> Result<CString> {
        let call_name = c_name(name)?;
        if !self.names.contains(&call_name) {
            let line = Record::line(name);
            let written = self.marker.write_all(line.as_bytes());
            written.map_err(Trouble::file("write", &self.inside(super::MARKER)))?;
            self.names.push(call_name.clone());
        }
        Ok(call_name)
    }

    /// Makes a file.
    pub(super) fn create_file(&mut self, name: &str) -> Result<File> {
        let name = self.record(name)?;
        self.held.create_file(&name)
    }

    /// Makes a file and takes its name away again, so that it goes when we go.
    pub(crate) fn nameless_file(&mut self, name: &str) -> Result<File> {
        let file = self.create_file(name)?;
        self.remove_entry(name)?;
        Ok(file)
    }

    /// Makes a folder.
    pub(super) fn make_folder(&mut self, name: &str) -> Result<()> {
        let call_name = self.record(name)?;
        let made = mkdirat(self.held.folder(), &call_name, 0o700);
        made.map_err(Trouble::call("create", &self.inside(name)))
    }

    /// Removes an entry and everything below it; one that is not there is fine.
    pub(super) fn remove_entry(&self, name: &str) -> Result<()> {
        self.held.remove(&c_name(name)?)
    }

    /// Mounts something on a folder, which is made if it is not there.
    pub(super) fn mount(&mut self, point: &str, what: Mountable<'_>) -> Result<()> {
        let path = self.inside(point);
        match self.make_folder(point) {
            Err(Trouble::Call { error, .. }) if error.errno == Errno::EXIST => {}
            made => made?,
        }
        let (name, folder) = (c_name(point)?, self.held.folder());
        let on = open_directory(folder, &name, Follow::No).map_err(Trouble::call("open", &path))?;
        let (source, file_system) = (c_name(what.source)?, c_name(what.file_system)?);
        mount_on(&on, &source, &file_system, what.access, what.options)
            .map_err(Trouble::call("mount something on", &path))?;
        let id = mount_id(folder, &name).map_err(Trouble::call("stat", &path));
        // Taken down also where its number is not told, so that it is unmounted in any case.
        self.mounts.push((name, id.as_ref().ok().copied().flatten()));
        id.map(|_| ())
    }

    /// Unmounts what we have mounted, the last first; waits a little while it is busy.
    pub(super) fn unmount_all(&mut self) -> Result<()> {
        while let Some((name, id)) = self.mounts.last() {
            let path = self.inside(&name.to_string_lossy());
            let now = mount_id(self.held.folder(), name).map_err(Trouble::call("stat", &path))?;
            if id.is_some() && now != *id {
                return Err(Trouble::Exchanged(path));
            }
            let mut last = unmount_at(self.held.folder(), name);
            for _ in 1..UNMOUNT_TRIES {
                if !matches!(last, Err(error) if error.errno == Errno::BUSY) {
                    break;
                }
                std::thread::sleep(UNMOUNT_WAIT);
                last = unmount_at(self.held.folder(), name);
            }
            last.map_err(Trouble::call("unmount", &path))?;
            self.mounts.pop();
        }
        Ok(())
    }

    /// Removes the folder and everything that we made in it; unmounts what is still mounted. Does
    /// nothing the second time.
    pub(crate) fn remove(&mut self) -> Result<()> {
        if self.removed {
            return Ok(());
        }
        self.unmount_all()?;
        empty(&self.held, &self.names)?;
        self.held.remove_folder()?;
        self.removed = true;
        Ok(())
    }
}
