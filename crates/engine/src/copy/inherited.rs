//! Applies inherited metadata according to the policy: see [`haul_io::inherit`] for what a file
//! inherits from the file that it replaces.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_io::inherit::{Failed, GivenOtherwise, Lost, Predecessor, open_replaced};
use haul_sys::Errno;
use haul_sys::fs::{Follow, OpenHow, openat};

use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::{Severity, What};
use crate::data::request::ModePolicy;

fn warn(run: &Run<'_>, entry: &Entry<'_>, lost: Lost, errno: Errno) {
    let what = match lost {
        Lost::Owner => What::NewOwner,
        Lost::Xattr => What::Xattr,
        Lost::Flags => What::Flags,
    };
    entry.report(run, what, Some(errno), Severity::Warning);
}

/// Gives an empty file the flags of the file that it replaces; those that the policy preserves are added later.
pub(super) fn take_over_flags(
    run: &Run<'_>,
    entry: &Entry<'_>,
    fd: BorrowedFd<'_>,
    (directory, name): (BorrowedFd<'_>, &CStr),
) {
    let mut tell = |lost, errno| warn(run, entry, lost, errno);
    match run.with_descriptors(|| open_replaced(directory, name)) {
        Ok(old) => haul_io::inherit::take_over_flags(fd, directory, old.as_fd(), &mut tell),
        // There is no file to replace any more.
        Err(error) if error.errno == Errno::NOENT => {}
        Err(error) => tell(Lost::Flags, error.errno),
    }
}

/// Gives a file the owner, lists and bits of the file that it replaces, except those that the
/// policy sets otherwise. If the user may not change the owner, the user becomes the owner of the
/// new file, and the function reports a warning. Any other failure is an error, because the bits
/// could grant more access than before.
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
    let mut tell = |lost, errno| warn(run, entry, lost, errno);
    haul_io::inherit::take_over(fd, old, opened, given, &mut tell).map_err(|(failed, errno)| {
        let what = match failed {
            Failed::Describe => What::StatTarget,
            Failed::Permissions => What::Permissions,
            Failed::Xattr => What::Xattr,
        };
        (what, errno)
    })
}
