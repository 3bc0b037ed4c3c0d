//! Inheriting, as the policy wants it: see [`haul_io::inherit`] for what a file that replaces
//! another takes over.

use std::os::fd::BorrowedFd;

use haul_io::inherit::{Failed, GivenOtherwise, Lost, Predecessor};
use haul_sys::Errno;
use haul_sys::fs::{Follow, OpenHow, openat};

use crate::entry::Entry;
use crate::error::{Severity, What};
use crate::request::ModePolicy;
use crate::run::Run;

/// Gives a file the owner, lists and bits of what it is to replace, as far as the policy does not
/// give it others. A user who may not give files away gets a file of their own, and a warning;
/// anything else that fails is a failure, for the bits could come to mean more than they did.
pub(super) fn take_over(
    run: &Run<'_>,
    entry: &Entry<'_>,
    fd: BorrowedFd<'_>,
    old: &Predecessor<'_>,
) -> Result<(), (What, Errno)> {
    let kept = &run.policy.preserve;
    let given = GivenOtherwise {
        ownership: kept.ownership.wanted(),
        mode: kept.mode == ModePolicy::Keep,
        xattr: kept.xattr.wanted(),
    };
    let how = OpenHow::READ.following(Follow::No);
    let opened = run.with_descriptors(|| openat(old.directory, old.name, how));
    let mut tell = |lost, errno| {
        let what = match lost {
            Lost::Owner => What::NewOwner,
            Lost::Xattr => What::Xattr,
        };
        entry.report(run, what, Some(errno), Severity::Warning);
    };
    haul_io::inherit::take_over(fd, old, opened, given, &mut tell).map_err(|(failed, errno)| {
        let what = match failed {
            Failed::Describe => What::StatTarget,
            Failed::Permissions => What::Permissions,
            Failed::Xattr => What::Xattr,
        };
        (what, errno)
    })
}
