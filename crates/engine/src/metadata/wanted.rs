//! What a target gets of its source, as the policy says, and what it means if that is refused.

use haul_io::attributes::{
    self, Attribute, Grant, Known, List, Lists, Otherwise, Owner, Permissions, Target, Wanted,
};
use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::xattr::{Attributes, lost_value};
use super::{Lost, times_of};
use crate::data::error::What;
use crate::data::request::{Keep, ModePolicy, Policy};

/// Returns the attributes that a target gets. `otherwise` are the permission bits that it gets where the policy
/// preserves none.
pub(super) fn wanted<'a>(
    stat: &Stat,
    extended: &'a Attributes,
    policy: &Policy,
    otherwise: Option<u32>,
) -> Wanted<'a> {
    let kept = &policy.preserve;
    let keeps_mode = kept.mode == ModePolicy::Keep;
    let refused = if policy.privileged { Otherwise::Nothing } else { Otherwise::GroupAlone };
    let owner = Owner { uid: stat.uid, gid: stat.gid, otherwise: refused };
    let permissions = match stat.kind() {
        Kind::Symlink => None,
        _ if keeps_mode => Some(kept_permissions(stat, policy)),
        _ => otherwise.map(Permissions::plain),
    };
    Wanted {
        owner: kept.ownership.wanted().then_some(owner),
        extended: extended.plain(),
        lists: if keeps_mode { lists(stat.kind(), extended) } else { Lists::default() },
        permissions,
        times: kept.times.wanted().then(|| times_of(stat)),
    }
}

/// Returns all twelve bits of a source. A user who asks for them without the owner grants the rights of a program, as
/// with GNU cp.
fn kept_permissions(stat: &Stat, policy: &Policy) -> Permissions {
    let bits = stat.permissions();
    let is_granted = stat.kind() != Kind::Regular || !policy.preserve.ownership.wanted();
    let grant = if is_granted {
        Grant::Caller
    } else {
        Grant::OwnerOf { uid: Some(stat.uid), gid: Some(stat.gid) }
    };
    // With another owner, setuid, setgid and the sticky bit would have another meaning.
    Permissions { bits, without_owner: bits & 0o777, without_list: bits, grant }
}

fn lists(kind: Kind, extended: &Attributes) -> Lists<'_> {
    let list = |name| extended.acl(name).map_or(List::Remove, List::Set);
    match kind {
        Kind::Symlink => Lists::default(),
        Kind::Directory => {
            Lists { access: list(attributes::ACCESS_LIST), default: list(attributes::DEFAULT_LIST) }
        }
        _ => Lists { access: list(attributes::ACCESS_LIST), default: List::Leave },
    }
}

/// Sets attributes of a target, and adds those that are lost.
pub(super) fn set(
    target: Target<'_>,
    known: Known,
    wanted: &Wanted<'_>,
    policy: &Policy,
    lost: &mut Vec<Lost>,
) {
    let _withheld = attributes::apply(target, known, wanted, &mut |attribute, error| {
        lost.extend(refused(attribute, error.errno, policy));
    });
}

/// Returns the loss of an attribute that was refused, if it is one.
fn refused(attribute: Attribute<'_>, errno: Errno, policy: &Policy) -> Option<Lost> {
    let kept = &policy.preserve;
    match attribute {
        Attribute::Owner if is_expected(errno, policy) => None,
        Attribute::Owner => Lost::by(kept.ownership, What::Ownership, errno),
        Attribute::Extended(name) => lost_value(name, errno, policy),
        Attribute::List(_) | Attribute::Permissions => {
            Lost::by(Keep::Must, What::Permissions, errno)
        }
        Attribute::Times => Lost::by(kept.times, What::Times, errno),
        Attribute::Flags => Lost::by(kept.flags, What::Flags, errno),
    }
}

/// Returns whether every user without privileges would get this refusal of an owner.
fn is_expected(errno: Errno, policy: &Policy) -> bool {
    !policy.privileged && matches!(errno, Errno::PERM | Errno::INVAL)
}
