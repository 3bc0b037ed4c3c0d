//! Owner and group.

use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Stat, fchown};

use super::Lost;
use crate::error::What;
use crate::request::Policy;

/// Whether the target belongs to whom the source belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    Alike,
    /// It does not, so setuid, setgid and the sticky bit would mean something else.
    Differently,
}

/// Gives the target the source's owner, or at least its group.
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
        // Unprivileged users may give files to groups that they are in. Whether that worked makes
        // no difference to what follows, as with GNU cp.
        let _group_alone = fchown(target, None, Some(stat.gid));
        return (Owned::Differently, None);
    }
    (Owned::Differently, Lost::by(keep, What::Ownership, error.errno))
}

/// Tells whether this failure is what every user without privileges gets.
pub(crate) fn is_expected(errno: Errno, policy: &Policy) -> bool {
    !policy.privileged && matches!(errno, Errno::PERM | Errno::INVAL)
}
