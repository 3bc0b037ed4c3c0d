//! Attributes of files that cannot be opened for reading: symbolic links, FIFOs, sockets and
//! devices.
//!
//! An `O_PATH` descriptor pins the target, and the target has to be the file that the run has just
//! made. If another process replaces the name in the meantime, no other file gets the attributes. Another
//! one pins the source, unless it is a link: its name may be that of a link that leads to it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_sys::fs::{
    Access, Follow, Kind, OpenHow, Pinned, Stat, chmod_handle, chown_handle, fstat,
    getxattr_handle, lgetxattr_at, listxattr_handle, llistxattr_at, openat, removexattr_handle,
    setxattr_handle, utimens_handle,
};
use haul_sys::{Call, CallError, Errno, Result};

use super::{Lost, keeps_anything, owner, times_of};
use crate::data::error::{Severity, What};
use crate::data::request::{Keep, ModePolicy, Policy};

/// An `O_PATH` descriptor of a name, also of a link.
const HANDLE: OpenHow = OpenHow { access: Access::Path, ..OpenHow::READ };

/// Name in an open directory.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
}

/// Applies to a name that the run has just made every attribute of the source that the policy
/// preserves.
pub(crate) fn keep(
    source: Place<'_>,
    stat: &Stat,
    target: Place<'_>,
    policy: &Policy,
) -> Vec<Lost> {
    let mut lost = Vec::new();
    if !keeps_anything(policy) {
        return lost;
    }
    let (file, now) = match pin(target, stat) {
        Ok(pinned) => pinned,
        Err(errno) => {
            let severity = Severity::Failure;
            return vec![Lost { what: What::Permissions, errno, severity }];
        }
    };
    let pinned = pinned(&file, target);
    let kept = &policy.preserve;
    let is_link = stat.kind() == Kind::Symlink;
    let mut mode = if kept.mode == ModePolicy::Keep {
        stat.permissions()
    } else {
        crate::decide::usual_mode(stat, policy) & !policy.umask
    };
    if kept.ownership.wanted()
        && (now.uid, now.gid) != (stat.uid, stat.gid)
        && let Err(error) = chown_handle(&file, stat.uid, stat.gid)
    {
        mode &= 0o777;
        if !owner::is_expected(error.errno, policy) {
            lost.extend(Lost::by(kept.ownership, What::Ownership, error.errno));
        }
    }
    if kept.xattr.wanted() || kept.mode == ModePolicy::Keep {
        attributes(source, stat, pinned, policy, &mut lost);
    }
    if !is_link
        && mode != now.permissions()
        && let Err(error) = chmod_handle(pinned, mode)
    {
        lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno));
    }
    if kept.times.wanted()
        && let Err(error) = utimens_handle(&file, times_of(stat))
    {
        lost.extend(Lost::by(kept.times, What::Times, error.errno));
    }
    lost
}

/// Opens the file that the run has just made. The file must have the source's kind and no other
/// name.
fn pin(target: Place<'_>, stat: &Stat) -> std::result::Result<(OwnedFd, Stat), Errno> {
    let pinned = openat(target.directory, target.name, HANDLE).map_err(|error| error.errno)?;
    let now = fstat(&pinned).map_err(|error| error.errno)?;
    if now.kind() == stat.kind() && now.nlink == 1 && now.rdev == stat.rdev {
        Ok((pinned, now))
    } else {
        Err(Errno::STALE)
    }
}

/// A source whose attributes are read.
enum Source<'a> {
    /// A symbolic link.
    Link(Place<'a>),
    /// A file of another kind, and the name that leads to it.
    File(OwnedFd, Place<'a>),
}

impl<'a> Source<'a> {
    /// Opens a source that was described, itself or through a link. Fails with `ESTALE` if its name leads
    /// to another file now.
    fn open(place: Place<'a>, described: &Stat) -> Result<Source<'a>> {
        if described.kind() == Kind::Symlink {
            return Ok(Source::Link(place));
        }
        for follow in [Follow::No, Follow::Yes] {
            let file = openat(place.directory, place.name, HANDLE.following(follow))?;
            let now = fstat(&file)?;
            if now.same_file(described) {
                return Ok(Source::File(file, place));
            }
            if now.kind() != Kind::Symlink {
                break;
            }
        }
        Err(CallError::new(Call::Openat, Errno::STALE))
    }

    fn names(&self) -> Result<Vec<CString>> {
        match self {
            Source::Link(place) => llistxattr_at(place.directory, place.name),
            Source::File(file, place) => listxattr_handle(pinned(file, *place)),
        }
    }

    fn value(&self, name: &CStr) -> Result<Vec<u8>> {
        match self {
            Source::Link(place) => lgetxattr_at(place.directory, place.name, name),
            Source::File(file, place) => getxattr_handle(pinned(file, *place), name),
        }
    }
}

fn pinned<'a>(file: &'a OwnedFd, place: Place<'a>) -> Pinned<'a> {
    Pinned { file: file.as_fd(), directory: place.directory, name: place.name }
}

fn attributes(
    source: Place<'_>,
    stat: &Stat,
    target: Pinned<'_>,
    policy: &Policy,
    lost: &mut Vec<Lost>,
) {
    let source = Source::open(source, stat);
    match &source {
        Ok(source) => copy_all(source, target, policy, lost),
        Err(error) => lost.extend(super::xattr::unlisted(error.errno, policy)),
    }
    let has_list = || source.is_ok_and(|source| source.value(super::acl::ACCESS).is_ok());
    let may_have_list = stat.kind() != Kind::Symlink;
    if may_have_list && policy.preserve.mode == ModePolicy::Keep && !has_list() {
        remove_list(target, lost);
    }
}

fn copy_all(source: &Source<'_>, target: Pinned<'_>, policy: &Policy, lost: &mut Vec<Lost>) {
    let names = match source.names() {
        Ok(names) => names,
        Err(error) if error.errno == Errno::OPNOTSUPP => return,
        Err(error) => return lost.extend(super::xattr::unlisted(error.errno, policy)),
    };
    for name in names {
        if super::xattr::kept(&name, policy).1 == Keep::No {
            continue;
        }
        let answer = source.value(&name).and_then(|value| setxattr_handle(target, &name, &value));
        if let Err(error) = answer
            && error.errno != Errno::NODATA
        {
            lost.extend(super::xattr::lost_value(&name, error.errno, policy));
        }
    }
}

/// Removes the access-control list that the target inherited from its directory, and the source does not
/// have: the list would grant access to users that have none to the source.
fn remove_list(target: Pinned<'_>, lost: &mut Vec<Lost>) {
    match removexattr_handle(target, super::acl::ACCESS) {
        Ok(()) => {}
        // The file had no list.
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => {}
        Err(error) => lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno)),
    }
}
