//! Where a member goes: the descriptor of its directory, and its name there.
//!
//! A directory is opened relative to the target directory, by `openat2` with `RESOLVE_BENEATH`, so that
//! the kernel itself refuses every path that leads out, whatever another process does meanwhile. A
//! symbolic link on the way is followed only where the kernel keeps it beneath; without `openat2` none
//! is followed.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_io::space::Space;
use haul_sys::fs::{Follow, OpenHow, mkdirat, open_beneath, open_beneath_through_links, openat};
use haul_sys::{Call, CallError, Errno, Result, is_refused};

use super::policy::Names;
use crate::descriptors::share;

/// Number of directories that stay open. Members of one directory follow one another, so a few
/// suffice.
const OPEN_MAX: usize = 64;

/// Where a member goes.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) parent: Arc<OwnedFd>,
    pub(crate) leaf: CString,
    /// Whether a symbolic link led there, so that the place has another name too.
    pub(crate) through_link: bool,
}

/// The target directory, and open directories in it by path.
#[derive(Debug)]
pub(crate) struct Places {
    root: Arc<OwnedFd>,
    names: Names,
    umask: u32,
    open: HashMap<Vec<u8>, (Arc<OwnedFd>, bool)>,
    open_max: usize,
    knows_openat2: bool,
    /// A directory on the way that could not be made.
    failed: Option<(Vec<u8>, CallError)>,
    /// Number of directories that were made because a name needs them.
    pub(super) made: u64,
    space: Space,
}

/// Cuts a path into its directory and its last component; `.` for a path without one.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let mut path = path;
    while let [rest @ .., b'/'] = path {
        path = rest;
    }
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) => (b"/", path.get(1..).unwrap_or_default()),
        Some(slash) => {
            let (parent, leaf) = path.split_at(slash);
            (parent, leaf.get(1..).unwrap_or_default())
        }
        None if path.is_empty() => (b"", b"."),
        None => (b"", path),
    }
}

fn text(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| CallError::new(Call::Openat, Errno::INVAL))
}

impl Places {
    pub(super) fn new(root: OwnedFd, names: Names, umask: u32) -> Places {
        Places {
            root: Arc::new(root),
            names,
            umask,
            open: HashMap::new(),
            open_max: share(OPEN_MAX),
            knows_openat2: true,
            failed: None,
            made: 0,
            space: Space::new(),
        }
    }

    /// Looks only at what is there, and beneath a directory.
    pub(crate) fn within(root: Arc<OwnedFd>) -> Places {
        Places::looking(root, Names::Beneath)
    }

    /// Looks only at what is there, wherever names lead.
    pub(crate) fn following(root: Arc<OwnedFd>) -> Places {
        Places::looking(root, Names::Absolute)
    }

    fn looking(root: Arc<OwnedFd>, names: Names) -> Places {
        Places {
            root,
            names,
            umask: 0,
            open: HashMap::new(),
            open_max: share(OPEN_MAX),
            knows_openat2: true,
            failed: None,
            made: 0,
            space: Space::new(),
        }
    }

    /// Forgets open directories, because one of them may have been removed.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// Forgets open directories that a symbolic link led to, because one may have been replaced.
    pub(super) fn forget_links(&mut self) {
        self.open.retain(|_, (_, through_link)| !*through_link);
    }

    /// Returns the place of a path. Missing directories on the way are made.
    pub(super) fn of(&mut self, path: &[u8]) -> Result<Place> {
        match self.existing(path) {
            Err(error) if error.errno == Errno::NOENT => match self.make_parents(path) {
                Ok(()) => self.existing(path),
                Err(_) => Err(error),
            },
            answer => answer,
        }
    }

    /// Returns the place of a path whose directories exist.
    pub(crate) fn existing(&mut self, path: &[u8]) -> Result<Place> {
        let (parent, leaf) = split(path);
        let (parent, through_link) = self.directory(parent)?;
        Ok(Place { parent, leaf: text(leaf)?, through_link })
    }

    fn directory(&mut self, path: &[u8]) -> Result<(Arc<OwnedFd>, bool)> {
        if path.is_empty() {
            return Ok((Arc::clone(&self.root), false));
        }
        if let Some((fd, through_link)) = self.open.get(path) {
            return Ok((Arc::clone(fd), *through_link));
        }
        if self.open.len() >= self.open_max {
            self.open.clear();
        }
        let (fd, through_link) = self.open_directory(path)?;
        let fd = Arc::new(fd);
        self.open.insert(path.to_vec(), (Arc::clone(&fd), through_link));
        Ok((fd, through_link))
    }

    fn open_directory(&mut self, path: &[u8]) -> Result<(OwnedFd, bool)> {
        let name = text(path)?;
        if self.names == Names::Absolute {
            let fd = openat(&*self.root, &name, OpenHow::DIRECTORY_HANDLE.following(Follow::Yes))?;
            return Ok((fd, true));
        }
        if self.knows_openat2 {
            match open_beneath(&*self.root, &name) {
                Err(error) if error.errno == Errno::LOOP => {
                    return Ok((open_beneath_through_links(&*self.root, &name)?, true));
                }
                Err(error) if is_refused(error.call, error.errno) => {
                    self.knows_openat2 = false;
                }
                answer => return Ok((answer?, false)),
            }
        }
        self.step_by_step(path).map(|fd| (fd, false))
    }

    fn step_by_step(&self, path: &[u8]) -> Result<OwnedFd> {
        let mut at: Option<OwnedFd> = None;
        for component in components(path) {
            // The name was checked, but what is checked here cannot be forgotten there.
            if component == b".." {
                return Err(CallError::new(Call::Openat, Errno::XDEV));
            }
            let name = text(component)?;
            at = Some(match &at {
                Some(fd) => openat(fd, &name, OpenHow::DIRECTORY_HANDLE)?,
                None => openat(&*self.root, &name, OpenHow::DIRECTORY_HANDLE)?,
            });
        }
        match at {
            Some(fd) => Ok(fd),
            None => openat(&*self.root, c".", OpenHow::DIRECTORY_HANDLE),
        }
    }

    /// Makes the directories above a path, those that are missing.
    fn make_parents(&mut self, path: &[u8]) -> Result<()> {
        let (parent, _) = split(path);
        for (at, _) in parent.iter().enumerate().filter(|(at, byte)| *at > 0 && **byte == b'/') {
            self.make_parent(&parent[..at])?;
        }
        self.make_parent(parent)
    }

    fn make_parent(&mut self, path: &[u8]) -> Result<()> {
        if path.is_empty() || path.ends_with(b"/") || split(path).1 == b"." {
            return Ok(());
        }
        let place = self.existing(path)?;
        let make = || mkdirat(&*place.parent, &place.leaf, (0o777 & !self.umask) | 0o300);
        let made = self.space.retry(&*place.parent, || false, make);
        let Err(error) = made else {
            self.made += 1;
            return Ok(());
        };
        // A link that leads nowhere exists, too.
        if error.errno == Errno::EXIST && self.directory(path).is_ok() {
            return Ok(());
        }
        self.failed = Some((path.to_vec(), error));
        Err(error)
    }

    /// Returns the directory that could not be made for the last place, and why.
    pub(super) fn take_failure(&mut self) -> Option<(Vec<u8>, CallError)> {
        self.failed.take()
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|component| !matches!(component, [] | [b'.']))
}

/// Writes a name in a form that is equal for names that may be one file: without needless slashes and dots,
/// and in lower case, for file systems that ignore case.
pub(super) fn fold(path: &[u8], folded: &mut Vec<u8>) {
    let start = folded.len();
    for component in components(path) {
        if folded.len() > start {
            folded.push(b'/');
        }
        folded.extend_from_slice(component);
    }
    match folded.get(start..).map(std::str::from_utf8) {
        Some(Ok(text)) if !text.is_ascii() => {
            let text = text.to_lowercase();
            folded.truncate(start);
            folded.extend_from_slice(text.as_bytes());
        }
        _ => folded.iter_mut().skip(start).for_each(u8::make_ascii_lowercase),
    }
}

/// Returns the number of directories on the way to a name.
pub(super) fn depth(path: &[u8]) -> usize {
    components(path).count()
}

/// Opens a name as a handle for its attributes, whatever kind it is, without following a link.
pub(super) fn handle(parent: &OwnedFd, leaf: &CStr) -> Result<OwnedFd> {
    openat(parent, leaf, OpenHow::HANDLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_and_compared() {
        assert_eq!(split(b"a/b/c/"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(split(b"/a"), (&b"/"[..], &b"a"[..]));
        assert_eq!(split(b"./"), (&b""[..], &b"."[..]));
        let folded = |path: &[u8]| {
            let mut folded = b"x".to_vec();
            fold(path, &mut folded);
            folded.split_off(1)
        };
        assert_eq!(folded(b"./A//b/./c/"), b"a/b/c");
        assert_eq!(folded("Ä/B".as_bytes()), "ä/b".as_bytes());
        assert_eq!(folded(b"\xffA"), b"\xffa");
        assert_eq!(depth(b"./A//b/./c/"), 3);
    }

    #[test]
    fn without_openat2_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("d/e")).unwrap();
        std::os::unix::fs::symlink("d", folder.path().join("l")).unwrap();
        let root = OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        let mut places = Places::new(root, Names::Beneath, 0);
        assert!(places.existing(b"l/e/f").unwrap().through_link);
        places.forget();
        places.knows_openat2 = false;
        assert!(!places.existing(b"d/e/f").unwrap().through_link);
        let refused = places.existing(b"l/e/f").unwrap_err().errno;
        assert!(matches!(refused, Errno::LOOP | Errno::NOTDIR), "{refused:?}");
        assert_eq!(places.existing(b"d/../../f").unwrap_err().errno, Errno::XDEV);
    }
}
