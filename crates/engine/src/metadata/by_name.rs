//! Attributes of files that cannot be opened for reading: symbolic links, FIFOs, sockets and
//! devices.
//!
//! An `O_PATH` descriptor pins the target, and the target has to be the file that the run has just
//! made. If another process replaces the name in the meantime, no other file gets the attributes. Another
//! one pins the source, unless it is a link: its name may be that of a link that leads to it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::attributes::{Known, NewMode, Target};
use haul_sys::fs::{
    Follow, Kind, OpenHow, Pinned, Stat, fstat, getxattr_handle, lgetxattr_at, listxattr_handle,
    llistxattr_at, openat,
};
use haul_sys::{Call, CallError, Errno, Result};

use super::wanted::{set, wanted};
use super::{Attributes, Lost, keeps_anything};
use crate::data::error::{Severity, What};
use crate::data::request::Policy;
use crate::decide;
use crate::names::at::At;

/// Applies to a name that the run has just made every attribute of the source that the policy
/// preserves. `made` is the mode that the run passed to the call that made it.
pub(crate) fn keep(
    source: At<'_>,
    stat: &Stat,
    target: At<'_>,
    made: u32,
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
    let extended = if Attributes::are_wanted(policy) {
        attributes_of(source, stat, policy, &mut lost)
    } else {
        Attributes::default()
    };
    let usual = decide::usual_mode(stat, policy);
    let bits = NewMode { made, usual, umask: policy.umask }.bits(now.permissions());
    let wanted = wanted(stat, &extended, policy, Some(bits));
    let target = Target::Handle(pinned(&file, target));
    set(target, Known::of(&now), &wanted, policy, &mut lost);
    lost
}

/// Opens the file that the run has just made. The file must have the source's kind and no other
/// name.
fn pin(target: At<'_>, stat: &Stat) -> std::result::Result<(OwnedFd, Stat), Errno> {
    let pinned =
        openat(target.directory, target.name, OpenHow::HANDLE).map_err(|error| error.errno)?;
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
    Link(At<'a>),
    /// A file of another kind, and the name that leads to it.
    File(OwnedFd, At<'a>),
}

impl<'a> Source<'a> {
    /// Opens a source that was described, itself or through a link. Fails with `ESTALE` if its name leads
    /// to another file now.
    fn open(place: At<'a>, described: &Stat) -> Result<Source<'a>> {
        if described.kind() == Kind::Symlink {
            return Ok(Source::Link(place));
        }
        for follow in [Follow::No, Follow::Yes] {
            let file = openat(place.directory, place.name, OpenHow::HANDLE.following(follow))?;
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

fn pinned<'a>(file: &'a OwnedFd, place: At<'a>) -> Pinned<'a> {
    Pinned { file: file.as_fd(), directory: place.directory, name: place.name }
}

/// Reads the attributes of a source that the policy preserves. Without a list of the source's own, the target keeps
/// none that it inherited.
fn attributes_of(source: At<'_>, stat: &Stat, policy: &Policy, lost: &mut Vec<Lost>) -> Attributes {
    let source = Source::open(source, stat);
    let names = source.as_ref().map_err(|error| *error).and_then(Source::names);
    let names = match names {
        Err(error) if error.errno == Errno::OPNOTSUPP => Ok(Vec::new()),
        answer => answer,
    };
    let value = |name: &CStr| source.as_ref().map_err(|error| *error)?.value(name);
    Attributes::gather(names, value, policy, lost)
}
