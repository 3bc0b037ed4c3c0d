//! Permission bits, and the access-control list, of which they are a part.

use std::os::fd::BorrowedFd;

use haul_sys::fs::{Kind, Stat, fchmod, fstat};

use super::owner::Owned;
use super::{Attributes, Lost, NewTarget, acl};
use crate::decide;
use crate::error::{Severity, What};
use crate::request::{ModePolicy, Policy};

/// Returns the mode with which a new target is made, before the umask.
pub(crate) fn creation(stat: &Stat, policy: &Policy, new_owner: Option<(u32, u32)>) -> u32 {
    let kept = &policy.preserve;
    let owner_will_change = kept.ownership.wanted() && new_owner != Some((stat.uid, stat.gid));
    let mut mode = decide::creation_mode(stat, policy, owner_will_change);
    if stat.kind() == Kind::Directory {
        // Its entries have to be made first; what is too much is taken away at the end.
        mode |= 0o700;
    } else if kept.xattr.wanted() && !policy.privileged {
        // Attributes cannot be set on a file that its owner may not write to.
        mode |= 0o200;
    }
    mode
}

/// Sets bits, and reports the failure.
pub(super) fn set(target: BorrowedFd<'_>, mode: u32) -> Option<Lost> {
    fchmod(target, mode).err().map(|error| Lost {
        what: What::Permissions,
        errno: error.errno,
        severity: Severity::Failure,
    })
}

/// Gives a new target the bits that it was not made with while its owner was to change.
pub(super) fn widen(
    target: BorrowedFd<'_>,
    stat: &Stat,
    made: u32,
    policy: &Policy,
) -> Option<Lost> {
    let wanted = decide::usual_mode(stat, policy) & !policy.umask;
    if made & !policy.umask == wanted { None } else { set(target, wanted) }
}

/// Takes away the bits of a target that was there before which it will not have in the end, and all
/// those of its group and of others; the list's, too, for they are masked by the group's.
pub(super) fn narrow(target: BorrowedFd<'_>, stat: &Stat) -> haul_sys::Result<()> {
    let now = fstat(target)?.permissions();
    let too_much = now & (!stat.permissions() | 0o7000);
    if too_much == 0 { Ok(()) } else { fchmod(target, now & stat.permissions() & 0o700) }
}

/// Gives the target the source's access-control list and all twelve bits; the bits also where the
/// list cannot be had.
pub(super) fn keep(
    target: BorrowedFd<'_>,
    (stat, attributes): (&Stat, &Attributes),
    (made, owned): (NewTarget, Owned),
    policy: &Policy,
    lost: &mut Vec<Lost>,
) {
    debug_assert_eq!(policy.preserve.mode, ModePolicy::Keep);
    let mode = match owned {
        Owned::Alike => stat.permissions(),
        Owned::Differently => stat.permissions() & 0o777,
    };
    acl::keep(target, attributes, made, stat.kind(), lost);
    // The call that made it may have given it exactly these bits already.
    let same_owner = made.owner == (stat.uid, stat.gid);
    let is_right = made.mode.is_some_and(|made| made & !policy.umask == mode)
        && same_owner
        && !made.inherits_acl
        && !attributes.has_acl()
        && stat.kind() == Kind::Regular;
    if !is_right {
        lost.extend(set(target, mode));
    }
}
