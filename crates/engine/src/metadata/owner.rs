//! Owner and group of a target.

use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Stat, fchown};

use super::Lost;
use crate::data::error::What;
use crate::data::request::Policy;

/// Whether source and target have the same owner and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    Alike,
    /// The owners differ, so setuid, setgid and the sticky bit would have another meaning.
    Differently,
}

/// Sets the owner and group of the source on the target, or at least the group.
pub(super) fn keep(
    target: BorrowedFd<'_>,
    stat: &Stat,
    now: (u32, u32),
    policy: &Policy,
) -> (Owned, Option<Lost>) {
    let keep = policy.preserve.ownership;
    if !keep.wanted() || now == (stat.uid, stat.gid) {
        return (Owned::Alike, None);
    }
    let Err(error) = fchown(target, Some(stat.uid), Some(stat.gid)) else {
        return (Owned::Alike, None);
    };
    if is_expected(error.errno, policy) {
        // An unprivileged user may set a group that the user is in. The result does not affect the
        // following steps, as in GNU cp.
        let _group_alone = fchown(target, None, Some(stat.gid));
        return (Owned::Differently, None);
    }
    (Owned::Differently, Lost::by(keep, What::Ownership, error.errno))
}

/// Returns whether every user without privileges would get this failure.
pub(crate) fn is_expected(errno: Errno, policy: &Policy) -> bool {
    !policy.privileged && matches!(errno, Errno::PERM | Errno::INVAL)
}
