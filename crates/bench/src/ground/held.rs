//! A folder that is held by its descriptor: all that is done in it is done through that.
//!
//! A benchmark is often run by root, in places such as `/dev/shm` and `/tmp` where anybody may make
//! and rename things. A path can come to mean something else between two calls; a descriptor cannot.

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

use crate::trouble::{Result, Trouble};

/// What nobody but the owner may do.
const OTHERS: u32 = 0o077;

/// A folder, the folder that it is in, and its name there.
#[derive(Debug)]
pub(super) struct Held {
    /// How it is shown to people and to the tools that are measured.
    path: PathBuf,
    parent: OwnedFd,
    name: CString,
    folder: OwnedFd,
}

/// Makes a name for a call.
pub(super) fn c_name(name: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(name).map_err(|_| Trouble::Unfit("a name has a zero byte in it"))
}

/// Opens a folder that a person named, also through a symbolic link.
fn open_named(path: &Path) -> Result<OwnedFd> {
    let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let name = c_name(shown.as_os_str().as_encoded_bytes())?;
    open_directory(CWD, &name, Follow::Yes).map_err(Trouble::call("open", shown))
}

impl Held {
    /// Makes a folder that only its owner may enter; `None` if there is something of that name.
    pub(super) fn make(path: PathBuf) -> Result<Option<Held>> {
        // `..` and `/` are there already.
        let Some(name) = path.file_name() else { return Ok(None) };
        let name = c_name(name.as_encoded_bytes())?;
        let parent = open_named(path.parent().unwrap_or(Path::new("")))?;
        match mkdirat(&parent, &name, 0o700) {
            Err(error) if error.errno == Errno::EXIST => return Ok(None),
            made => made.map_err(Trouble::call("create", &path))?,
        }
        let folder = open_directory(&parent, &name, Follow::No);
        let folder = folder.map_err(Trouble::call("open", &path))?;
        let held = Held { path, parent, name, folder };
        // Who may rename things in the folder around it can have exchanged it. There, the owner
        // tells; elsewhere nothing has to, and some file systems make up owners.
        if !held.is_own()? && !held.is_safe_from_renames()? || !held.names()?.is_empty() {
            return Err(Trouble::Exchanged(held.path));
        }
        Ok(Some(held))
    }

    /// Opens a folder by its name in another one; it may not be a symbolic link.
    pub(super) fn open(base: &Path, name: &CStr) -> Result<Held> {
        let path = base.join(os(name));
        let parent = open_named(base)?;
        let folder = open_directory(&parent, name, Follow::No);
        let folder = folder.map_err(Trouble::call("open", &path))?;
        Ok(Held { path, parent, name: name.to_owned(), folder })
    }

    /// Opens a folder that a person named.
    pub(super) fn named(path: &Path) -> Result<Held> {
        let real = path.canonicalize().map_err(Trouble::file("resolve", path))?;
        let name = real.file_name().map_or(b".".as_slice(), |name| name.as_encoded_bytes());
        let name = c_name(name)?;
        let held = Held::open(real.parent().unwrap_or(&real), &name)?;
        Ok(Held { path: path.to_owned(), ..held })
    }

    /// Returns the path as people and tools see it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path to the folder that leads through its descriptor, for this process and those
    /// that it starts.
    pub(super) fn link(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.folder.as_raw_fd()))
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    pub(super) fn stat(&self) -> Result<Stat> {
        fstat(&self.folder).map_err(Trouble::call("stat", &self.path))
    }

    /// Says whether the folder is this user's.
    fn is_own(&self) -> Result<bool> {
        Ok(is_own(&self.stat()?))
    }

    /// Says whether the folder is this user's alone, and no other mount's.
    pub(super) fn is_private(&self) -> Result<bool> {
        let stat = self.stat()?;
        let mount = |directory: &OwnedFd| {
            mount_id(directory, c"").map_err(Trouble::call("stat", &self.path))
        };
        Ok(is_own(&stat) && !others_may(&stat) && mount(&self.folder)? == mount(&self.parent)?)
    }

    /// Says whether nobody else can rename what is in the folder around this one.
    fn is_safe_from_renames(&self) -> Result<bool> {
        let around = fstat(&self.parent).map_err(Trouble::call("stat", &self.path))?;
        Ok(keeps_names(&around))
    }

    /// Says whether nobody else can make the path of this folder lead elsewhere.
    pub(super) fn has_safe_path(&self) -> Result<bool> {
        let path = self.path.canonicalize().map_err(Trouble::file("resolve", &self.path))?;
        for above in path.ancestors().skip(1) {
            let name = c_name(above.as_os_str().as_encoded_bytes())?;
            let stat = statat(CWD, &name).map_err(Trouble::call("stat", above))?;
            if !keeps_names(&stat) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lists what is in the folder.
    pub(super) fn names(&self) -> Result<Vec<CString>> {
        let cannot = |errno: Errno| Trouble::file("list", &self.path)(errno.into());
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder).map_err(cannot)? {
            let entry = entry.map_err(|errno| Trouble::file("list", &self.path)(errno.into()))?;
            if entry.file_name() != c"." && entry.file_name() != c".." {
                names.push(entry.file_name().to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Fails if there is anything in the folder that is not expected there.
    pub(super) fn refuse_others(&self, expected: impl Fn(&CStr) -> bool) -> Result<()> {
        let others = self.names()?.into_iter().filter(|name| !expected(name));
        let found: Vec<String> = others.map(|name| name.to_string_lossy().into_owned()).collect();
        if found.is_empty() {
            return Ok(());
        }
        Err(Trouble::ForeignFolder { path: self.path.clone(), found })
    }

    /// Makes a file that only its owner may open.
    pub(super) fn create_file(&self, name: &CStr) -> Result<File> {
        let path = self.path.join(os(name));
        let how = OpenHow { access: Access::ReadWrite, ..OpenHow::new_file(0o600) };
        let file = openat(&self.folder, name, how).map_err(Trouble::call("create", &path))?;
        Ok(File::from(file))
    }

    /// Opens a file for reading and writing, if this user's alone is what it is.
    pub(super) fn open_private_file(&self, name: &CStr) -> Option<File> {
        let how = OpenHow { access: Access::ReadWrite, ..OpenHow::READ };
        let file = openat(&self.folder, name, how).ok()?;
        let stat = fstat(&file).ok()?;
        let is_private = is_own(&stat) && !others_may(&stat) && is_only_name(&stat);
        is_private.then(|| File::from(file))
    }

    /// Says whether a name is that of a file that has no other.
    pub(super) fn is_only_name(&self, name: &CStr) -> bool {
        statat(&self.folder, name).is_ok_and(|stat| is_only_name(&stat))
    }

    /// Removes an entry and all below it; one that is not there is fine.
    pub(super) fn remove(&self, name: &CStr) -> Result<()> {
        match remove_entry(self.folder.as_fd(), name) {
            Err(failure) if failure.errno != Errno::NOENT.raw_os_error() => {
                let path = self.path.join(os(name));
                Err(Trouble::corpus(&path)(failure))
            }
            _ => Ok(()),
        }
    }

    /// Removes the folder itself, if it is empty and its name is still its name.
    pub(super) fn remove_folder(&self) -> Result<()> {
        let named = statat(&self.parent, &self.name).map_err(Trouble::call("stat", &self.path))?;
        if !named.same_file(&self.stat()?) {
            return Err(Trouble::Exchanged(self.path.clone()));
        }
        rmdirat(&self.parent, &self.name).map_err(Trouble::call("remove", &self.path))
    }
}

/// Returns a name as part of a path.
fn os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

fn is_own(stat: &Stat) -> bool {
    stat.uid == rustix::process::geteuid().as_raw()
}

/// Says whether nobody else can rename what is in a folder: it is this user's or root's, and either
/// nobody else may write in it, or everybody may rename only what is his own.
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
