//! Permission bits, and the access-control list, of which they are a part.

use std::os::fd::BorrowedFd;

use haul_sys::fs::{Kind, Stat, fchmod, fstat};

use super::owner::Owned;
use super::{Lost, NewTarget, SourceAttributes, acl};
use crate::decide;
use crate::error::{Severity, What};
use crate::request::{ModePolicy, Policy};

/// Returns the mode that the run makes a new target with, before the umask.
pub(crate) fn creation(stat: &Stat, policy: &Policy, new_owner: Option<(u32, u32)>) -> u32 {
    let kept = &policy.preserve;
    let owner_will_change = kept.ownership.wanted() && new_owner != Some((stat.uid, stat.gid));
    let mut mode = decide::creation_mode(stat, policy, owner_will_change);
    if stat.kind() == Kind::Directory {
        // The run has to make the entries first; it clears excess bits at the end.
        mode |= 0o700;
    } else if kept.xattr.wanted() && !policy.privileged {
        // The owner needs write permission to set attributes.
        mode |= 0o200;
    }
    mode
}

/// Sets the permission bits, and returns the failure.
pub(super) fn set(target: BorrowedFd<'_>, mode: u32) -> Option<Lost> {
    fchmod(target, mode).err().map(|error| Lost {
        what: What::Permissions,
        errno: error.errno,
        severity: Severity::Failure,
    })
}

/// Adds the bits of a new target that the run withheld until it had set the owner.
pub(super) fn widen(
    target: BorrowedFd<'_>,
    stat: &Stat,
    made: u32,
    policy: &Policy,
) -> Option<Lost> {
    let wanted = decide::usual_mode(stat, policy) & !policy.umask;
    if made & !policy.umask == wanted { None } else { set(target, wanted) }
}

/// Clears the bits of an existing target that its final mode does not have, and all bits of the
/// group and of others. The group bits are the mask of an ACL, so this restricts its entries, too.
pub(super) fn narrow(target: BorrowedFd<'_>, stat: &Stat) -> haul_sys::Result<()> {
    let now = fstat(target)?.permissions();
    let too_much = now & (!stat.permissions() | 0o7000);
    if too_much == 0 { Ok(()) } else { fchmod(target, now & stat.permissions() & 0o700) }
}

/// Applies the source's access-control list and all twelve bits; sets the bits even if the target
/// cannot have the list.
pub(super) fn keep(
    target: BorrowedFd<'_>,
    source: SourceAttributes<'_>,
    made: NewTarget,
    owned: Owned,
    policy: &Policy,
    lost: &mut Vec<Lost>,
) {
    debug_assert_eq!(policy.preserve.mode, ModePolicy::Keep);
    let SourceAttributes { stat, extended } = source;
    let mode = match owned {
        Owned::Alike => stat.permissions(),
        Owned::Differently => stat.permissions() & 0o777,
    };
    acl::keep(target, extended, made, stat.kind(), lost);
    // The call that made the file may already have set exactly these bits.
    let same_owner = made.owner == (stat.uid, stat.gid);
    let is_right = made.mode.is_some_and(|made| made & !policy.umask == mode)
        && same_owner
        && !made.inherits_acl
        && !extended.has_acl()
        && stat.kind() == Kind::Regular;
    if !is_right {
        lost.extend(set(target, mode));
    }
}
