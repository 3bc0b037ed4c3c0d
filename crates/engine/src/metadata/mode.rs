//! Permission bits, and default access-control lists of directories, which decide about them.

use std::os::fd::BorrowedFd;

use haul_io::attributes::{DEFAULT_LIST, Grant, bits_of_list};
use haul_sys::fs::{Kind, Stat, fchmod, fgetxattr, fstat};

use crate::data::request::Policy;
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

/// Returns the bits of a mode that a target with this owner and group may have: without those that the owner or the
/// group of another file has granted.
pub(crate) fn granted(owner: (u32, u32), source: &Stat, mode: u32) -> u32 {
    Grant::OwnerOf { uid: Some(source.uid), gid: Some(source.gid) }.allow(mode, owner)
}

/// Clears the bits of an existing target that its final mode does not have, and all bits of the
/// group and of others. The group bits are the mask of an ACL, so this restricts its entries, too.
pub(super) fn narrow(target: BorrowedFd<'_>, stat: &Stat) -> haul_sys::Result<()> {
    let now = fstat(target)?.permissions();
    let too_much = now & (!stat.permissions() | 0o7000);
    if too_much == 0 { Ok(()) } else { fchmod(target, now & stat.permissions() & 0o700) }
}

/// Returns the permission bits that the default list of this directory grants to a new file in it, which are
/// also those that the directory got from the same list of its parent. `None` if it has no such list.
pub(crate) fn default_grants(directory: BorrowedFd<'_>) -> Option<u32> {
    bits_of_list(&fgetxattr(directory, DEFAULT_LIST).ok()?)
}
