//! Attributes of files that cannot be opened for reading: symbolic links, FIFOs, sockets and
//! devices.
//!
//! An `O_PATH` descriptor pins the target, and the target has to be the file that the run has just
//! made. If another process replaces the name in the meantime, no other file gets the attributes.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_sys::Errno;
use haul_sys::fs::{
    Access, Kind, OpenHow, Pinned, Stat, chmod_handle, chown_handle, fstat, lgetxattr_at,
    llistxattr_at, openat, removexattr_handle, setxattr_handle, utimens_handle,
};

use super::{Lost, keeps_anything, owner, times_of};
use crate::data::error::{Severity, What};
use crate::data::request::{Keep, ModePolicy, Policy};

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
    let pinned = Pinned { file: file.as_fd(), directory: target.directory, name: target.name };
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
        attributes(source, pinned, policy, &mut lost);
    }
    if kept.mode == ModePolicy::Keep && !is_link {
        without_inherited_list(source, pinned, &mut lost);
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
fn pin(target: Place<'_>, stat: &Stat) -> Result<(OwnedFd, Stat), Errno> {
    let how = OpenHow { access: Access::Path, ..OpenHow::READ };
    let pinned = openat(target.directory, target.name, how).map_err(|error| error.errno)?;
    let now = fstat(&pinned).map_err(|error| error.errno)?;
    if now.kind() == stat.kind() && now.nlink == 1 && now.rdev == stat.rdev {
        Ok((pinned, now))
    } else {
        Err(Errno::STALE)
    }
}

/// Removes the access-control list inherited from the directory, where the source has none: the
/// list would grant access to users that have none to the source.
fn without_inherited_list(source: Place<'_>, target: Pinned<'_>, lost: &mut Vec<Lost>) {
    if lgetxattr_at(source.directory, source.name, super::acl::ACCESS).is_ok() {
        return;
    }
    match removexattr_handle(target, super::acl::ACCESS) {
        Ok(()) => {}
        // The file had no list.
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => {}
        Err(error) => lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno)),
    }
}

fn attributes(source: Place<'_>, target: Pinned<'_>, policy: &Policy, lost: &mut Vec<Lost>) {
    let names = match llistxattr_at(source.directory, source.name) {
        Ok(names) => names,
        Err(error) if error.errno == Errno::OPNOTSUPP => return,
        Err(error) => return lost.extend(super::xattr::unlisted(error.errno, policy)),
    };
    for name in names {
        if super::xattr::kept(&name, policy).1 == Keep::No {
            continue;
        }
        let answer = lgetxattr_at(source.directory, source.name, &name)
            .and_then(|value| setxattr_handle(target, &name, &value));
        if let Err(error) = answer
            && error.errno != Errno::NODATA
        {
            lost.extend(super::xattr::lost_value(&name, error.errno, policy));
        }
    }
}
