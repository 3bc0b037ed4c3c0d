//! Access-control lists, copied as raw bytes: the kernel's own format is the same on both sides.

use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Kind, fgetxattr, fremovexattr, fsetxattr};

use super::{Attributes, Lost, NewTarget};
use crate::error::What;
use crate::request::Keep;

pub(super) const ACCESS: &std::ffi::CStr = c"system.posix_acl_access";
pub(super) const DEFAULT: &std::ffi::CStr = c"system.posix_acl_default";

/// Returns whether files made in this directory inherit an access-control list from it.
pub(crate) fn has_default(directory: BorrowedFd<'_>) -> bool {
    fgetxattr(directory, DEFAULT).is_ok()
}

/// Sets the source's lists on the target, and removes a list that the target inherited.
pub(super) fn keep(
    target: BorrowedFd<'_>,
    attributes: &Attributes,
    made: NewTarget,
    kind: Kind,
    lost: &mut Vec<Lost>,
) {
    let lists: &[&std::ffi::CStr] =
        if kind == Kind::Directory { &[ACCESS, DEFAULT] } else { &[ACCESS] };
    for name in lists {
        let answer = match attributes.acl(name) {
            Some(value) => fsetxattr(target, name, value),
            None if made.inherits_acl || made.mode.is_none() => remove(target, name),
            None => Ok(()),
        };
        if let Err(error) = answer {
            lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno));
        }
    }
}

fn remove(target: BorrowedFd<'_>, name: &std::ffi::CStr) -> haul_sys::Result<()> {
    match fremovexattr(target, name) {
        Err(error) if matches!(error.errno, Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        answer => answer,
    }
}
