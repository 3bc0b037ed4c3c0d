//! Access-control lists, copied as raw bytes: the kernel's own format is the same on both sides.

use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::acl::{GROUP_OBJ, MASK, OTHER, USER_OBJ, read};
use haul_sys::fs::{Kind, fgetxattr, fremovexattr, fsetxattr};

use super::{Attributes, Lost, NewTarget};
use crate::data::error::What;
use crate::data::request::Keep;

pub(super) const ACCESS: &std::ffi::CStr = c"system.posix_acl_access";
pub(super) const DEFAULT: &std::ffi::CStr = c"system.posix_acl_default";

/// Returns whether files made in this directory inherit an access-control list from it.
pub(crate) fn has_default(directory: BorrowedFd<'_>) -> bool {
    fgetxattr(directory, DEFAULT).is_ok()
}

/// Returns the permission bits that the default list of this directory grants to a new file in it, which are
/// also those that the directory got from the same list of its parent. `None` if it has no such list.
pub(crate) fn default_grants(directory: BorrowedFd<'_>) -> Option<u32> {
    grants(&fgetxattr(directory, DEFAULT).ok()?)
}

/// Returns the bits of a list. With a mask, the bits of the group are those of the mask.
fn grants(list: &[u8]) -> Option<u32> {
    let entries = read(list)?;
    let bits = |tag| {
        let entry = entries.iter().find(|entry| entry.tag == tag)?;
        Some(u32::from(entry.permissions) & 7)
    };
    let group = bits(MASK).or_else(|| bits(GROUP_OBJ))?;
    Some(bits(USER_OBJ)? << 6 | group << 3 | bits(OTHER)?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grants_its_owner_mask_and_others() {
        let list = |entries: &[(u16, u16)]| {
            let mut list = 2_u32.to_le_bytes().to_vec();
            for (tag, bits) in entries {
                list.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
                list.extend(u32::MAX.to_le_bytes());
            }
            list
        };
        assert_eq!(grants(&list(&[(1, 7), (4, 5), (0x20, 0)])), Some(0o750));
        assert_eq!(grants(&list(&[(1, 6), (2, 7), (4, 7), (0x10, 4), (0x20, 1)])), Some(0o641));
        assert_eq!(grants(&list(&[(1, 6), (4, 7)])), None);
        assert_eq!(grants(&list(&[])), None);
        assert_eq!(grants(&[2, 0, 0]), None);
        assert_eq!(grants(&[2, 0, 0, 0, 1]), None);
    }
}
