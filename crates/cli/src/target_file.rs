//! A file that haul writes for the user, for `write` and `--metrics`: opened only when it is safe to, and put in its place at the end.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haul_io::inherit::Lost;
use haul_io::stored::flush_dense;
use haul_io::stream::{AtomicFile, Durable, End, Place, Target};
use haul_start::Standard;
use haul_sys::data::ftruncate;
use haul_sys::fs::{
    Access, CWD, Create, Follow, Kind, OFlags, OpenHow, Stat, duplicate, fstat, may_write_at,
    open_directory, openat, statat, statat_follow,
};
use haul_sys::{Errno, errno_text};

use crate::standard::{demand, refuse_own_output};

/// Links that are followed to a file, as many as the kernel follows; see path_resolution(7).
const MAX_LINKS: u32 = 40;

/// A file to be written.
pub(crate) struct TargetFile {
    name: OsString,
    kind: How,
}

enum How {
    /// Standard output, or a file that is written in its place.
    There(Arc<std::os::fd::OwnedFd>, Place),
    /// A file that appears at the end.
    Later(Box<AtomicFile>),
}

/// Opens a file for writing, or makes it. What an existing one has stays until [`TargetFile::empty`].
pub(crate) fn open(name: &OsStr, atomic: bool) -> Result<TargetFile, String> {
    let kind = if name == "-" {
        refuse_own_output(std::io::stdin().as_fd())?;
        demand(Standard::Output).map_err(|error| error.text())?;
        let stdout = duplicate(std::io::stdout()).map_err(|error| error.text())?;
        How::There(Arc::new(stdout), Place::Position)
    } else if atomic {
        open_staged(name)?
    } else {
        open_in_place(name)?
    };
    Ok(TargetFile { name: name.to_owned(), kind })
}

fn c_name(name: &OsStr) -> CString {
    // The kernel hands no argument with a NUL to a program.
    CString::new(name.as_bytes()).unwrap_or_default()
}

/// Standard input, where it is a file that writing could destroy.
fn input() -> Option<Stat> {
    // Closed, it is none.
    fstat(std::io::stdin())
        .ok()
        .filter(|stat| matches!(stat.kind(), Kind::Regular | Kind::BlockDevice))
}

/// Describes what a name leads to; nothing where there is nothing.
fn present(path: &CStr) -> Result<Option<Stat>, String> {
    match statat_follow(CWD, path) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.errno == Errno::NOENT => Ok(None),
        Err(error) => Err(error.text()),
    }
}

fn open_in_place(name: &OsStr) -> Result<How, String> {
    let path = c_name(name);
    let before = present(&path)?;
    let is_device = before.is_some_and(|stat| stat.kind() == Kind::BlockDevice);
    // With O_EXCL the kernel refuses a device that is mounted, see open(2).
    let extra = if is_device { OFlags::EXCL } else { OFlags::empty() };
    let how = OpenHow {
        access: Access::Write,
        create: if is_device { Create::No } else { Create::IfAbsent(0o666) },
        extra,
        ..OpenHow::WRITE.following(Follow::Yes).waiting()
    };
    let file = openat(CWD, &path, how).map_err(|error| error.text())?;
    let stat = fstat(&file).map_err(|error| error.text())?;
    if input().is_some_and(|input| input.same_file(&stat)) {
        return Err("input file is output file".to_owned());
    }
    Ok(How::There(Arc::new(file), Place::Offsets))
}

fn open_staged(name: &OsStr) -> Result<How, String> {
    let before = present(&c_name(name))?;
    if let Some(stat) = &before {
        if stat.kind() != Kind::Regular {
            return Err("only regular files can be replaced with --atomic".to_owned());
        }
        if input().is_some_and(|input| input.same_file(stat)) {
            return Err("input file is output file".to_owned());
        }
    }
    let path = behind_links(name)?;
    let (Some(file_name), false) = (path.file_name(), ends_in_slash(&path)) else {
        return Err(errno_text(Errno::ISDIR));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = open_directory(CWD, &c_name(parent.as_os_str()), Follow::Yes)
        .map_err(|error| error.text())?;
    let file_name = c_name(file_name);
    let found = match statat(&directory, &file_name) {
        Ok(stat) => Some(stat),
        Err(error) if error.errno == Errno::NOENT => None,
        Err(error) => return Err(error.text()),
    };
    let is_the_same = match (&before, &found) {
        (Some(before), Some(found)) => before.same_file(found),
        (None, None) => true,
        _ => false,
    };
    if !is_the_same {
        // Another process changes the name, or a link like those of /proc does not tell the path.
        return Err(errno_text(Errno::STALE));
    }
    // A file that could not be written to is not replaced either: its bits were meant so.
    if found.is_some() {
        may_write_at(&directory, &file_name).map_err(|error| error.text())?;
    }
    let atomic_file = AtomicFile::begin(directory, file_name).map_err(|error| error.text())?;
    Ok(How::Later(Box::new(atomic_file)))
}

/// Follows the symbolic links that a name may be: what they lead to is replaced, or made, and they
/// stay. The directories on the way are left to the kernel.
fn behind_links(name: &OsStr) -> Result<PathBuf, String> {
    let mut path = PathBuf::from(name);
    for _ in 0..MAX_LINKS {
        if ends_in_slash(&path) {
            return Ok(path);
        }
        match std::fs::read_link(&path) {
            // An absolute one takes the place of the whole path.
            Ok(leads_to) => {
                path.pop();
                path.push(leads_to);
            }
            // No link, or nothing: then this is the place.
            Err(_) => return Ok(path),
        }
    }
    Err(errno_text(Errno::LOOP))
}

fn ends_in_slash(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b"/")
}

impl TargetFile {
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(crate) fn is_stdout(&self) -> bool {
        self.name == "-"
    }

    /// Empties a file that is written in its place.
    pub(crate) fn empty(&self) -> Result<(), String> {
        match &self.kind {
            How::There(file, Place::Offsets)
                if fstat(&**file).map_err(|error| error.text())?.kind() == Kind::Regular =>
            {
                ftruncate(&**file, 0).map_err(|error| error.text())
            }
            How::There(..) | How::Later(_) => Ok(()),
        }
    }

    pub(crate) fn target(&self) -> Target {
        let (file, place) = match &self.kind {
            How::There(file, place) => (Arc::clone(file), *place),
            How::Later(atomic_file) => (Arc::clone(atomic_file.file()), Place::Offsets),
        };
        let appends = haul_sys::fs::appends(file.as_fd()).unwrap_or(true);
        let place = if appends { Place::Position } else { place };
        Target { file, base: 0, end: End::Exact, place }
    }

    /// Gives the file its name. `warn` is called for attributes of the replaced file which this one
    /// could not get.
    pub(crate) fn publish(self, durable: Durable, warn: impl Fn(&str)) -> Result<(), String> {
        match self.kind {
            How::There(file, _) => match Arc::into_inner(file) {
                Some(file) => haul_sys::fs::close(file).map_err(|error| error.text()),
                None => Ok(()),
            },
            How::Later(atomic_file) => {
                let mut tell = |lost, errno| {
                    let what = match lost {
                        Lost::Owner => "the new file could not get the owner of the old one",
                        Lost::Xattr => "the new file could not get an attribute of the old one",
                        Lost::Flags => "the new file could not get a flag of the old one",
                    };
                    warn(&format!("{what}: {}", errno_text(errno)));
                };
                atomic_file.publish(durable, &mut tell).map_err(|error| error.text())
            }
        }
    }

    /// The same for a file that was written without holes, and not flushed yet: with [`Durable::Yes`] it
    /// has to show that it is stored before it gets its name.
    pub(crate) fn publish_dense(self, durable: Durable, warn: impl Fn(&str)) -> Result<(), String> {
        if let (How::Later(atomic_file), Durable::Yes) = (&self.kind, durable) {
            flush_dense(&**atomic_file.file()).map_err(|error| error.text())?;
        }
        self.publish(durable, warn)
    }

    /// Lets whatever was there before be.
    pub(crate) fn abandon(self) {
        if let How::Later(atomic_file) = self.kind {
            atomic_file.abandon();
        }
    }
}
