//! A directory that stays open: all operations in it go through its descriptor.
//!
//! Root often runs a benchmark in places such as `/dev/shm` and `/tmp`, where every user may create
//! and rename files. A path can refer to another file between two calls; a descriptor cannot.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::remove_entry;
use haul_sys::fs::{
    Access, CWD, Follow, Kind, OpenHow, Stat, fstat, mkdirat, mount_id, open_directory, openat,
    rmdirat, statat,
};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// A directory, its parent directory, and its name there.
#[derive(Debug)]
pub(super) struct Pinned {
    /// The path in messages and in the commands of the measured tools.
    path: PathBuf,
    parent: OwnedFd,
    name: CString,
    folder: OwnedFd,
}

/// Converts a name to a C string.
pub(super) fn c_name(name: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(name).map_err(|_| Error::Unfit("a name has a zero byte in it"))
}

/// Opens a directory that the user named, also through a symbolic link.
fn open_named(path: &Path) -> Result<OwnedFd> {
    let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let name = c_name(shown.as_os_str().as_encoded_bytes())?;
    open_directory(CWD, &name, Follow::Yes).map_err(Error::call("open", shown))
}

impl Pinned {
    /// Creates a directory that only its owner may enter; `None` if the name exists.
    pub(super) fn make(path: PathBuf) -> Result<Option<Pinned>> {
        // `..` and `/` always exist.
        let Some(name) = path.file_name() else { return Ok(None) };
        let name = c_name(name.as_encoded_bytes())?;
        let parent = open_named(path.parent().unwrap_or(Path::new("")))?;
        match mkdirat(&parent, &name, 0o700) {
            Err(error) if error.errno == Errno::EXIST => return Ok(None),
            made => made.map_err(Error::call("create", &path))?,
        }
        let folder = open_directory(&parent, &name, Follow::No);
        let folder = folder.map_err(Error::call("open", &path))?;
        let pinned = Pinned { path, parent, name, folder };
        // A user who may rename entries of the parent directory can have replaced it. In that case
        // the owner is checked; otherwise no check is needed, and some file systems report false
        // owners.
        if !pinned.is_own()? && !pinned.is_safe_from_renames()? || !pinned.names()?.is_empty() {
            return Err(Error::Exchanged(pinned.path));
        }
        Ok(Some(pinned))
    }

    /// Opens a directory by its name in another one; it must not be a symbolic link.
    pub(super) fn open(base: &Path, name: &CStr) -> Result<Pinned> {
        let path = base.join(os(name));
        let parent = open_named(base)?;
        let folder = open_directory(&parent, name, Follow::No);
        let folder = folder.map_err(Error::call("open", &path))?;
        Ok(Pinned { path, parent, name: name.to_owned(), folder })
    }

    /// Opens a directory that the user named.
    pub(super) fn named(path: &Path) -> Result<Pinned> {
        let real = path.canonicalize().map_err(Error::file("resolve", path))?;
        let name = real.file_name().map_or(b".".as_slice(), |name| name.as_encoded_bytes());
        let name = c_name(name)?;
        let pinned = Pinned::open(real.parent().unwrap_or(&real), &name)?;
        Ok(Pinned { path: path.to_owned(), ..pinned })
    }

    /// Returns the path for messages and tools.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path to the directory through its descriptor, for this process and its children.
    pub(super) fn link(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.folder.as_raw_fd()))
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    pub(super) fn stat(&self) -> Result<Stat> {
        fstat(&self.folder).map_err(Error::call("stat", &self.path))
    }

    /// Returns whether this user owns the directory.
    fn is_own(&self) -> Result<bool> {
        Ok(is_own(&self.stat()?))
    }

    /// Returns whether only this user may enter the directory, and no file system is mounted on it.
    pub(super) fn is_private(&self) -> Result<bool> {
        let stat = self.stat()?;
        let mount =
            |directory: &OwnedFd| mount_id(directory, c"").map_err(Error::call("stat", &self.path));
        Ok(is_own(&stat) && !others_may(&stat) && mount(&self.folder)? == mount(&self.parent)?)
    }

    /// Returns whether no other user can rename entries of the parent directory.
    fn is_safe_from_renames(&self) -> Result<bool> {
        let around = fstat(&self.parent).map_err(Error::call("stat", &self.path))?;
        Ok(keeps_names(&around))
    }

    /// Returns whether no other user can redirect the path of this directory.
    pub(super) fn has_safe_path(&self) -> Result<bool> {
        let path = self.path.canonicalize().map_err(Error::file("resolve", &self.path))?;
        for above in path.ancestors().skip(1) {
            let name = c_name(above.as_os_str().as_encoded_bytes())?;
            let stat = statat(CWD, &name).map_err(Error::call("stat", above))?;
            if !keeps_names(&stat) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lists the entries of the directory.
    pub(super) fn names(&self) -> Result<Vec<CString>> {
        let cannot = |errno: Errno| Error::file("list", &self.path)(errno.into());
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder).map_err(cannot)? {
            let entry = entry.map_err(|errno| Error::file("list", &self.path)(errno.into()))?;
            if entry.file_name() != c"." && entry.file_name() != c".." {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Fails if the directory has an unexpected entry.
    pub(super) fn refuse_others(&self, expected: impl Fn(&CStr) -> bool) -> Result<()> {
        let others = self.names()?.into_iter().filter(|name| !expected(name));
        let found: Vec<String> = others.map(|name| name.to_string_lossy().into_owned()).collect();
        if found.is_empty() {
            return Ok(());
        }
        Err(Error::ForeignFolder { path: self.path.clone(), found })
    }

    /// Creates a file that only its owner may open.
    pub(super) fn create_file(&self, name: &CStr) -> Result<File> {
        let path = self.path.join(os(name));
        let how = OpenHow { access: Access::ReadWrite, ..OpenHow::new_file(0o600) };
        let file = openat(&self.folder, name, how).map_err(Error::call("create", &path))?;
        Ok(File::from(file))
    }

    /// Opens a file for reading and writing, if only this user can have access to it.
    pub(super) fn open_private_file(&self, name: &CStr) -> Option<File> {
        let how = OpenHow { access: Access::ReadWrite, ..OpenHow::READ };
        let file = openat(&self.folder, name, how).ok()?;
        let stat = fstat(&file).ok()?;
        let is_private = is_own(&stat) && !others_may(&stat) && is_only_name(&stat);
        is_private.then(|| File::from(file))
    }

    /// Returns whether a name is the only one of a regular file.
    pub(super) fn is_only_name(&self, name: &CStr) -> bool {
        statat(&self.folder, name).is_ok_and(|stat| is_only_name(&stat))
    }

    /// Removes an entry and all below it; a missing entry is not an error.
    pub(super) fn remove(&self, name: &CStr) -> Result<()> {
        match remove_entry(self.folder.as_fd(), name) {
            Err(failure) if failure.errno != Errno::NOENT.raw_os_error() => {
                let path = self.path.join(os(name));
                Err(Error::corpus(&path)(failure))
            }
            _ => Ok(()),
        }
    }

    /// Removes the directory itself, if it is empty and the name still refers to it.
    pub(super) fn remove_folder(&self) -> Result<()> {
        let named = statat(&self.parent, &self.name).map_err(Error::call("stat", &self.path))?;
        if !named.same_file(&self.stat()?) {
            return Err(Error::Exchanged(self.path.clone()));
        }
        rmdirat(&self.parent, &self.name).map_err(Error::call("remove", &self.path))
    }
}

/// Returns a name as part of a path.
fn os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

fn is_own(stat: &Stat) -> bool {
    stat.uid == rustix::process::geteuid().as_raw()
}

/// Returns whether no other user can rename entries of a directory: this user or root owns it, and
/// either no other user may write to it, or it is sticky.
fn keeps_names(folder: &Stat) -> bool {
    let is_trusted = is_own(folder) || folder.uid == 0;
    is_trusted && (folder.permissions() & 0o022 == 0 || folder.permissions() & 0o1000 != 0)
}

fn others_may(stat: &Stat) -> bool {
    stat.permissions() & OTHERS != 0
}

fn is_only_name(stat: &Stat) -> bool {
    stat.kind() == Kind::Regular && stat.nlink == 1
}
