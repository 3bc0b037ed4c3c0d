//! Attributes of what cannot be opened: symbolic links, FIFOs, sockets and devices.
//!
//! They are set through the name, never following a link, in a directory that is held open.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{
    Kind, Stat, chmodat, lchownat, lgetxattr_at, llistxattr_at, lsetxattr_at, statat,
    utimensat_nofollow,
};

use super::{Lost, keeps_anything, owner, times_of};
use crate::error::{Severity, What};
use crate::request::{Keep, ModePolicy, Policy};

/// A name in an open directory.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
}

/// Applies to a name that was just made everything that the policy keeps of another.
pub(crate) fn keep(
    source: Place<'_>,
    stat: &Stat,
    target: Place<'_>,
    new_owner: Option<(u32, u32)>,
    policy: &Policy,
) -> Vec<Lost> {
    let mut lost = Vec::new();
    if !keeps_anything(policy) {
        return lost;
    }
    let kept = &policy.preserve;
    let mut mode = stat.permissions();
    if kept.ownership.wanted() && new_owner != Some((stat.uid, stat.gid)) {
        let answer = lchownat(target.directory, target.name, Some(stat.uid), Some(stat.gid));
        if let Err(error) = answer {
            mode &= 0o777;
            if !owner::is_expected(error.errno, policy) {
                lost.extend(Lost::by(kept.ownership, What::Ownership, error.errno));
            }
        }
    }
    if kept.xattr.wanted() || kept.mode == ModePolicy::Keep {
        attributes(source, target, policy, &mut lost);
    }
    if stat.kind() != Kind::Symlink {
        if kept.mode != ModePolicy::Keep {
            mode = crate::decide::usual_mode(stat, policy) & !policy.umask;
        }
        lost.extend(permissions(target, stat.kind(), mode));
    }
    if kept.times.wanted() {
        let answer = utimensat_nofollow(target.directory, target.name, times_of(stat));
        if let Err(error) = answer {
            lost.extend(Lost::by(kept.times, What::Times, error.errno));
        }
    }
    lost
}

/// `chmodat` would follow a link; a name that was swapped for one since it was made is left alone.
fn permissions(target: Place<'_>, kind: Kind, mode: u32) -> Option<Lost> {
    let report = |errno| Some(Lost { what: What::Permissions, errno, severity: Severity::Failure });
    match statat(target.directory, target.name) {
        Ok(now) if now.kind() == kind && now.permissions() == mode => None,
        Ok(now) if now.kind() == kind => {
            chmodat(target.directory, target.name, mode).err().and_then(|error| report(error.errno))
        }
        Ok(_) => report(Errno::STALE),
        Err(error) => report(error.errno),
    }
}

fn attributes(source: Place<'_>, target: Place<'_>, policy: &Policy, lost: &mut Vec<Lost>) {
    let kept = &policy.preserve;
    // Where there is no /proc, or no attributes on this kind of file, there is nothing to keep.
    let Ok(names) = llistxattr_at(source.directory, source.name) else { return };
    for name in names {
        let keep = match super::xattr::kept_by_name(&name, policy) {
            Keep::No => continue,
            keep => keep,
        };
        let answer = lgetxattr_at(source.directory, source.name, &name)
            .and_then(|value| lsetxattr_at(target.directory, target.name, &name, &value));
        if let Err(error) = answer
            && error.errno != Errno::NODATA
        {
            let what = if keep == Keep::Must && kept.xattr != Keep::Must {
                What::Permissions
            } else {
                What::Xattr
            };
            lost.extend(Lost::by(keep, what, error.errno));
        }
    }
}
