//! Sets attributes of an entry whose content is its source's already.

use std::os::fd::AsFd as _;

use haul_sys::fs::{
    Follow, Kind, OpenHow, Pinned, chmod_handle, chown_handle, fstat, openat, removexattr_handle,
    setxattr_handle, utimens_handle,
};
use haul_sys::{CallError, Errno};

use crate::data::error::{Severity, What};
use crate::data::request::{Changes, Policy, TimeChange};
use crate::metadata::{Attribute, Lost, attributes_at, granted_mode, lists_at, times_of};
use crate::names::at::Sides;
use crate::sync::compare::Twins;

/// Sets owner, attributes, permission bits and times as `changes` says, in this order, because a new owner clears bits.
/// The entry of the target must be the one that was described, and have no other name: those need not get these
/// attributes.
pub(crate) fn adjust(twins: Twins<'_>, changes: Changes, policy: &Policy) -> Vec<Lost> {
    let Twins { sides, source: described, target, follow, .. } = twins;
    let Sides { source, target: at } = sides;
    let refused = |what, errno| vec![Lost { what, errno, severity: Severity::Failure }];
    let opened =
        openat(at.directory, at.name, OpenHow::HANDLE).and_then(|file| Ok((fstat(&file)?, file)));
    let (now, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return refused(What::StatTarget, error.errno),
    };
    if !now.same_file(target) || now.nlink != 1 || now.kind() != described.kind() {
        return refused(What::StatTarget, Errno::STALE);
    }
    let mut lost = Vec::new();
    let mut owner = (now.uid, now.gid);
    if changes.owner || changes.group {
        let uid = if changes.owner { described.uid } else { now.uid };
        let gid = if changes.group { described.gid } else { now.gid };
        match chown_handle(&file, Some(uid), Some(gid)) {
            Ok(()) => owner = (uid, gid),
            Err(error) => {
                let keep = policy.preserve.ownership;
                lost.extend(Lost::by(keep, What::Ownership, error.errno));
            }
        }
    }
    let pinned = Pinned { file: file.as_fd(), directory: at.directory, name: at.name };
    // A new owner takes capabilities away.
    let has_lost_some = owner != (now.uid, now.gid) && policy.preserve.xattr.wanted();
    if changes.xattr || has_lost_some {
        lost.extend(set_exactly(
            pinned,
            [attributes_at(source, follow), attributes_at(at, Follow::No)],
            What::Xattr,
        ));
    }
    if changes.acl {
        lost.extend(set_exactly(
            pinned,
            [lists_at(source, follow), lists_at(at, Follow::No)],
            What::Permissions,
        ));
    }
    let source = described;
    let replaced = crate::decide::replaced_mode(source, &now, policy);
    let wanted = match (changes.mode, replaced) {
        (true, Some(mode)) => mode,
        (true, None) => source.permissions(),
        (false, _) => now.permissions(),
    };
    // A user who asks for the mode without the owner grants the rights of a program, as with GNU cp.
    let mode = match policy.preserve.ownership.wanted() {
        true => granted_mode(owner, source, wanted),
        false => wanted,
    };
    // A list changes the bits of the group, and a new owner loses some.
    let has_lost_bits = changes.acl || (owner != (now.uid, now.gid) && mode & 0o6000 != 0);
    if (changes.mode || has_lost_bits)
        && now.kind() != Kind::Symlink
        && let Err(error) = chmod_handle(pinned, mode)
    {
        lost.extend(refused(What::Permissions, error.errno));
    }
    if changes.time == TimeChange::Kept
        && let Err(error) = utimens_handle(&file, times_of(source))
    {
        lost.extend(Lost::by(policy.preserve.times, What::Times, error.errno));
    }
    lost
}

/// Gives a file exactly the attributes of its source, out of those that it has. Changes nothing if one side cannot be
/// read.
fn set_exactly(
    file: Pinned<'_>,
    sides: [haul_sys::Result<Vec<Attribute>>; 2],
    what: What,
) -> Vec<Lost> {
    let lost = |error: CallError| Lost { what, errno: error.errno, severity: Severity::Failure };
    let [wanted, present] = match sides {
        [Ok(wanted), Ok(present)] => [wanted, present],
        [Err(error), _] | [_, Err(error)] => return vec![lost(error)],
    };
    let removed = present
        .iter()
        .filter(|(name, _)| !wanted.iter().any(|(wanted, _)| wanted == name))
        .map(|(name, _)| removexattr_handle(file, name));
    let set = wanted
        .iter()
        .filter(|attribute| !present.contains(attribute))
        .map(|(name, value)| setxattr_handle(file, name, value));
    removed
        .chain(set)
        .filter_map(Result::err)
        .filter(|error| error.errno != Errno::NODATA)
        .map(lost)
        .collect()
}
