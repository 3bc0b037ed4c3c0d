//! Inheriting: a file that replaces another takes over what an overwritten file would have kept.
//!
//! Writing to a file in place changes its bytes and leaves its owner, bits and lists alone. So that
//! nobody has to know which of the two was done, a file that takes its place has the same ones,
//! as far as the policy does not give it others.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{
    Follow, OpenHow, Stat, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, fstat, lgetxattr_at,
    llistxattr_at, openat,
};

use crate::error::{Severity, What};
use crate::metadata::cannot_have;
use crate::request::ModePolicy;
use crate::run::{Entry, Run};

/// What the new file takes over, and where the old one is.
pub(super) struct Predecessor<'a> {
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    pub(super) seen: &'a Stat,
}

/// Gives a file the owner, lists and bits of what it is to replace. Whoever may not give files
/// away gets a file of their own, and a warning; anything else that fails is a failure, for the
/// bits could come to mean more than they did.
pub(super) fn take_over(
    run: &Run<'_>,
    entry: &Entry<'_>,
    fd: BorrowedFd<'_>,
    old: &Predecessor<'_>,
) -> Result<(), (What, Errno)> {
    let kept = &run.policy.preserve;
    let now = fstat(fd).map_err(|error| (What::StatTarget, error.errno))?;
    if !kept.ownership.wanted() && (now.uid, now.gid) != (old.seen.uid, old.seen.gid) {
        give(run, entry, fd, old.seen);
    }
    attributes(run, entry, fd, old)?;
    if kept.mode == ModePolicy::Keep {
        return Ok(());
    }
    // Writing clears what runs with another's rights.
    fchmod(fd, old.seen.permissions() & 0o777).map_err(|error| (What::Permissions, error.errno))
}

fn give(run: &Run<'_>, entry: &Entry<'_>, fd: BorrowedFd<'_>, old: &Stat) {
    let Err(error) = fchown(fd, Some(old.uid), Some(old.gid)) else { return };
    // Unprivileged users may give files to groups that they are in.
    let has_group = fchown(fd, None, Some(old.gid)).is_ok();
    if old.uid != run.me.0 || !has_group {
        entry.report(run, What::NewOwner, Some(error.errno), Severity::Warning);
    }
}

fn attributes(
    run: &Run<'_>,
    entry: &Entry<'_>,
    fd: BorrowedFd<'_>,
    old: &Predecessor<'_>,
) -> Result<(), (What, Errno)> {
    let kept = &run.policy.preserve;
    let how = OpenHow::READ.following(Follow::No);
    let opened = run.with_descriptors(|| openat(old.directory, old.name, how));
    let names = match opened.and_then(|file| flistxattr(&file).map(|names| (file, names))) {
        Ok((file, names)) => {
            names.into_iter().map(|name| (fgetxattr(&file, &name), name)).collect()
        }
        Err(error) if error.errno == Errno::OPNOTSUPP => Vec::new(),
        // What may be written but not read: its lists are a part of its bits, the rest is not.
        Err(error) if matches!(error.errno, Errno::ACCESS | Errno::PERM) => by_name(old)?,
        Err(error) => return Err((What::StatTarget, error.errno)),
    };
    for (value, name) in names {
        let is_list = name.to_bytes() == b"system.posix_acl_access";
        // The kernel takes a file's capabilities away when it is written to.
        let given_otherwise = name.to_bytes() == b"security.capability"
            || (is_list && kept.mode == ModePolicy::Keep)
            || (!is_list && kept.xattr.wanted());
        if given_otherwise || (name.to_bytes().starts_with(b"system.") && !is_list) {
            continue;
        }
        match value.and_then(|value| fsetxattr(fd, &name, &value)) {
            Ok(()) => {}
            Err(error) if error.errno == Errno::NODATA => {}
            Err(error) if is_list => return Err((What::Permissions, error.errno)),
            Err(error) if cannot_have(What::Xattr, error.errno) => {
                entry.report(run, What::Xattr, Some(error.errno), Severity::Warning);
            }
            // The old file goes when the new one gets its name, and its attribute would go with it.
            Err(error) => return Err((What::Xattr, error.errno)),
        }
    }
    Ok(())
}

type Named = (haul_sys::Result<Vec<u8>>, CString);

fn by_name(old: &Predecessor<'_>) -> Result<Vec<Named>, (What, Errno)> {
    let names = match llistxattr_at(old.directory, old.name) {
        Ok(names) => names,
        Err(error) if error.errno == Errno::OPNOTSUPP => Vec::new(),
        Err(error) => return Err((What::StatTarget, error.errno)),
    };
    let read = |name: CString| (lgetxattr_at(old.directory, old.name, &name), name);
    Ok(names.into_iter().map(read).collect())
}
