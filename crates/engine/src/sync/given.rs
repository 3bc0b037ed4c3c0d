//! Directories that options name, and the directories below them that stand for those of the target.
//!
//! A path that leads below the target, or below one of these directories, is followed component by component and never
//! through a symbolic link, which another user may have put there. A path that the user has written with `..` or from
//! the root directory is the user's own, and may have links, such as the one to the latest snapshot.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, chown_handle, fstat, mkdirat, open_beneath, openat, statat,
};
use haul_sys::{Call, CallError, Errno};

use crate::names::by_identity::{Identity, identity};
use crate::names::path::{directory_of, split, trimmed};
use crate::plan::Plan;

/// What happens to a directory that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    /// It is made.
    Make,
}

/// The target directory of a synchronisation, from which the paths of options begin.
#[derive(Debug)]
pub(crate) struct TargetRoot {
    directory: OwnedFd,
    /// Beginning of the paths of all entries of the target, as messages show them.
    prefix: Vec<u8>,
    /// Whether the target does not exist yet, and the directory is the one above it.
    is_above: bool,
}

impl TargetRoot {
    /// Opens the target of a plan. Of a target that is a new name, it is the directory that gets this name.
    pub(crate) fn of(plan: &Plan) -> haul_sys::Result<TargetRoot> {
        let shown = plan.shown.to_bytes();
        let how = OpenHow::DIRECTORY_HANDLE.following(Follow::Yes);
        let (prefix, is_above) = match openat(&plan.source, &plan.shown, how) {
            Ok(directory) => {
                let prefix = trimmed(shown).to_vec();
                return Ok(TargetRoot { directory, prefix, is_above: false });
            }
            Err(_) if plan.contents.makes_target => (trimmed(shown), true),
            Err(_) => (split(shown).0, false),
        };
        let directory = openat(&plan.source, &directory_of(shown), how)?;
        Ok(TargetRoot { directory, prefix: prefix.to_vec(), is_above })
    }

    /// Returns whether a directory is the target.
    pub(crate) fn is(&self, directory: &OwnedFd) -> bool {
        let id = |directory: &OwnedFd| fstat(directory).map(|stat| identity(&stat)).ok();
        !self.is_above && id(&self.directory).is_some_and(|own| id(directory) == Some(own))
    }

    /// Returns the path below the target of an entry that messages show under this path.
    pub(crate) fn below<'p>(&self, shown: &'p [u8]) -> &'p [u8] {
        let path = shown.strip_prefix(&*self.prefix).unwrap_or(shown);
        let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
        trimmed(&path[start..])
    }

    /// Opens a directory that an option names.
    pub(crate) fn open(&self, path: &CStr, missing: Missing) -> haul_sys::Result<OwnedFd> {
        let mut bytes = path.to_bytes();
        let is_own = bytes.starts_with(b"/") || components(bytes).any(|part| part == b"..");
        let follow = if is_own { Follow::Yes } else { Follow::No };
        let mut at = if bytes.starts_with(b"/") {
            openat(CWD, c"/", OpenHow::DIRECTORY_HANDLE)?
        } else if self.is_above {
            let is_up = components(bytes).next() == Some(b"..");
            let none = CallError::new(Call::Openat, Errno::NOENT);
            bytes = bytes.strip_prefix(b"..").filter(|_| is_up).ok_or(none)?;
            openat(&self.directory, c".", OpenHow::DIRECTORY_HANDLE)?
        } else {
            openat(&self.directory, c".", OpenHow::DIRECTORY_HANDLE)?
        };
        for part in components(bytes) {
            let name = name_of(part)?;
            let open = || openat(&at, &name, OpenHow::DIRECTORY_HANDLE.following(follow));
            let opened = match open() {
                Err(error) if error.errno == Errno::NOENT && missing == Missing::Make => {
                    make(at.as_fd(), &name, 0o777)?;
                    open()
                }
                answer => answer,
            };
            at = opened?;
        }
        Ok(at)
    }

    /// Returns a directory and those above it, up to the target; none if it is not below the target.
    pub(crate) fn ways_to(&self, directory: &OwnedFd) -> HashSet<Identity> {
        let id = |directory: &OwnedFd| fstat(directory).map(|stat| identity(&stat)).ok();
        let climb = || {
            let (root, mut found) = (id(&self.directory)?, HashSet::new());
            let mut at = openat(directory, c".", OpenHow::DIRECTORY_HANDLE).ok()?;
            // The root directory is its own parent.
            while id(&at)? != root {
                if !found.insert(id(&at)?) {
                    return None;
                }
                at = openat(&at, c"..", OpenHow::DIRECTORY_HANDLE).ok()?;
            }
            Some(found)
        };
        climb().filter(|_| !self.is_above).unwrap_or_default()
    }

    /// Opens the directory below another one that has the path of a directory of the target, and makes those that are
    /// missing with the permission bits of the target's.
    pub(crate) fn make_twin(&self, of: &OwnedFd, path: &[u8]) -> haul_sys::Result<OwnedFd> {
        let mut at = openat(of, c".", OpenHow::DIRECTORY_HANDLE)?;
        let mut own = openat(&self.directory, c".", OpenHow::DIRECTORY_HANDLE).ok();
        for part in components(path) {
            let name = name_of(part)?;
            own = own.and_then(|own| openat(&own, &name, OpenHow::DIRECTORY_HANDLE).ok());
            let opened = match openat(&at, &name, OpenHow::DIRECTORY_HANDLE) {
                Err(error) if error.errno == Errno::NOENT => {
                    let stat = own.as_ref().and_then(|own| fstat(own).ok());
                    make(at.as_fd(), &name, stat.map_or(0o700, |stat| stat.permissions() | 0o700))?;
                    let made = openat(&at, &name, OpenHow::DIRECTORY_HANDLE)?;
                    if let Some(stat) = stat {
                        // Only root may; the directory of another user's backups is of use to root alone.
                        let _owned = chown_handle(&made, Some(stat.uid), Some(stat.gid));
                    }
                    Ok(made)
                }
                answer => answer,
            };
            at = opened?;
        }
        Ok(at)
    }
}

/// Makes a directory that may have appeared meanwhile.
fn make(directory: BorrowedFd<'_>, name: &CStr, mode: u32) -> haul_sys::Result<()> {
    match mkdirat(directory, name, mode & 0o777) {
        Err(error) if error.errno == Errno::EXIST => Ok(()),
        answer => answer,
    }
}

/// Opens a directory below another one, through no link.
pub(crate) fn open_below(directory: &OwnedFd, path: &[u8]) -> haul_sys::Result<OwnedFd> {
    let whole = if path.is_empty() { c".".to_owned() } else { name_of(path)? };
    if let Ok(opened) = open_beneath(directory, &whole) {
        return Ok(opened);
    }
    // A kernel may not know the call, and a path may be too long for it.
    let mut at = openat(directory, c".", OpenHow::DIRECTORY_HANDLE)?;
    for part in components(path) {
        at = openat(&at, &name_of(part)?, OpenHow::DIRECTORY_HANDLE)?;
    }
    Ok(at)
}

/// Returns whether an entry of a directory is one of these directories.
pub(crate) fn is_one_of(
    places: &HashSet<Identity>,
    directory: BorrowedFd<'_>,
    name: &CStr,
) -> bool {
    !places.is_empty()
        && statat(directory, name)
            .is_ok_and(|stat| stat.kind() == Kind::Directory && places.contains(&identity(&stat)))
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."))
}

fn name_of(part: &[u8]) -> haul_sys::Result<CString> {
    CString::new(part).map_err(|_| CallError::new(Call::Openat, Errno::INVAL))
}
