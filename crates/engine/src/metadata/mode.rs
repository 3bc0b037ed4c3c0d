//! Permission bits, and the access-control list, of which they are a part.

use std::os::fd::BorrowedFd;

use haul_sys::fs::{Kind, Stat, fchmod, fstat};

use super::owner::Owned;
use super::{Lost, NewTarget, SourceAttributes, acl};
use crate::data::error::{Severity, What};
use crate::data::request::{ModePolicy, Policy};
use crate::decide;

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

/// Bits with which a program runs with the rights of its file's owner, and of its group.
const RUNS_AS_OWNER: u32 = 0o4000;
const RUNS_AS_GROUP: u32 = 0o2000;

/// Sets the permission bits that a source has, and returns the failure. No other function sets a bit with
/// which a program runs with the rights of another user: such a bit is set only if the target, described
/// once more, has the owner or the group that granted it. A user who asks for the mode without the owner
/// grants these rights, as with GNU cp.
fn set_kept(target: BorrowedFd<'_>, source: &Stat, mode: u32, policy: &Policy) -> Option<Lost> {
    let is_granted = source.kind() != Kind::Regular || !policy.preserve.ownership.wanted();
    if is_granted || mode & (RUNS_AS_OWNER | RUNS_AS_GROUP) == 0 {
        return set(target, mode);
    }
    let allowed = match fstat(target) {
        Ok(now) => granted((now.uid, now.gid), source, mode),
        Err(_) => mode & !(RUNS_AS_OWNER | RUNS_AS_GROUP),
    };
    set(target, allowed)
}

/// Returns the bits of a mode that a target with this owner and group may have: without those that the owner or the
/// group of another file has granted.
pub(crate) fn granted((uid, gid): (u32, u32), source: &Stat, mode: u32) -> u32 {
    let refused = if uid == source.uid { 0 } else { RUNS_AS_OWNER };
    let of_group = if gid == source.gid { 0 } else { RUNS_AS_GROUP };
    mode & !(refused | of_group)
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
    let SourceAttributes { stat, extended, .. } = source;
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
        lost.extend(set_kept(target, stat, mode, policy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{FILE, stat};

    #[test]
    fn a_program_runs_only_with_the_rights_of_those_who_granted_them() {
        let source = Stat { uid: 1, gid: 2, ..stat(1, FILE) };
        let allowed = |uid, gid| granted((uid, gid), &source, 0o6755);
        assert_eq!(allowed(1, 2), 0o6755);
        assert_eq!(allowed(0, 2), 0o2755);
        assert_eq!(allowed(1, 0), 0o4755);
        assert_eq!(allowed(0, 0), 0o755);
    }
}
