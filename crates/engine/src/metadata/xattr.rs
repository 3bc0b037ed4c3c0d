//! Extended attributes, read from the source at once and applied to the target later.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{fgetxattr, flistxattr, fsetxattr};

use super::{Attribute, Lost, acl};
use crate::error::What;
use crate::request::{Keep, ModePolicy, Policy};

/// The attributes of a source, as far as the policy keeps them.
#[derive(Default)]
pub(crate) struct Attributes {
    plain: Vec<Attribute>,
    lists: Vec<Attribute>,
}

/// What becomes of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Plain,
    Acl,
    Context,
    /// Belongs to the file system or to one machine, as in `/etc/xattr.conf`.
    Left,
}

fn class(name: &CStr) -> Class {
    let bytes = name.to_bytes();
    if name == acl::ACCESS || name == acl::DEFAULT {
        return Class::Acl;
    }
    if bytes == b"security.selinux" {
        return Class::Context;
    }
    // `system.*` are faces of other things (NFS lists, rich ACLs).
    const LEFT: &[&[u8]] = &[b"system.", b"trusted.SGI_", b"security.evm"];
    if LEFT.iter().any(|prefix| bytes.starts_with(prefix)) {
        return Class::Left;
    }
    Class::Plain
}

impl Attributes {
    /// Reads what the policy keeps. One call where there is none, as with most files.
    pub(crate) fn read(
        source: BorrowedFd<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) -> Attributes {
        let preserve = &policy.preserve;
        let mut attributes = Attributes::default();
        if !preserve.xattr.wanted()
            && preserve.mode != ModePolicy::Keep
            && !preserve.context.wanted()
        {
            return attributes;
        }
        let names = match flistxattr(source) {
            Ok(names) => names,
            Err(error) => {
                lost.extend(unlisted(error.errno, policy));
                return attributes;
            }
        };
        for name in names {
            let (what, keep) = kept(&name, policy);
            if keep == Keep::No {
                continue;
            }
            let list = match what {
                What::Permissions => &mut attributes.lists,
                _ => &mut attributes.plain,
            };
            match fgetxattr(source, &name) {
                Ok(value) => list.push((name, value)),
                // Removed since it was listed.
                Err(error) if error.errno == Errno::NODATA => {}
                Err(error) => lost.extend(lost_value(&name, error.errno, policy)),
            }
        }
        attributes
    }

    /// Sets all but the access-control lists, which go with the mode.
    pub(crate) fn apply(&self, target: BorrowedFd<'_>, policy: &Policy, lost: &mut Vec<Lost>) {
        for (name, value) in &self.plain {
            if let Err(error) = fsetxattr(target, name, value) {
                lost.extend(lost_value(name, error.errno, policy));
            }
        }
    }

    pub(super) fn acl(&self, name: &CStr) -> Option<&[u8]> {
        self.lists.iter().find(|list| list.0.as_c_str() == name).map(|list| list.1.as_slice())
    }

    pub(super) fn has_acl(&self) -> bool {
        !self.lists.is_empty()
    }
}

/// Returns what an attribute is a part of, and how hard the policy keeps it.
pub(super) fn kept(name: &CStr, policy: &Policy) -> (What, Keep) {
    match class(name) {
        Class::Plain => (What::Xattr, policy.preserve.xattr),
        Class::Context => (What::Xattr, policy.preserve.context),
        Class::Acl if policy.preserve.mode == ModePolicy::Keep => (What::Permissions, Keep::Must),
        Class::Acl | Class::Left => (What::Xattr, Keep::No),
    }
}

/// Returns what is lost with one attribute. A security context that is kept only if it can be is the
/// business of the machine's policy, which may refuse it in many ways.
pub(super) fn lost_value(name: &CStr, errno: Errno, policy: &Policy) -> Option<Lost> {
    let (what, keep) = kept(name, policy);
    if class(name) == Class::Context && keep == Keep::Try {
        return None;
    }
    Lost::by(keep, what, errno)
}

/// Returns the attributes of an open file that a copy keeps, sorted by name.
pub(crate) fn copied(fd: BorrowedFd<'_>) -> haul_sys::Result<Vec<Attribute>> {
    let names = match flistxattr(fd) {
        Err(error) if error.errno == Errno::OPNOTSUPP => Vec::new(),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names {
        if !matches!(class(&name), Class::Left | Class::Context) {
            let value = fgetxattr(fd, &name)?;
            found.push((name, value));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns what is lost where the names of a source's attributes cannot be read. A file system without
/// attributes has none to lose, unless a person asked for them.
pub(super) fn unlisted(errno: Errno, policy: &Policy) -> Option<Lost> {
    let preserve = &policy.preserve;
    if errno != Errno::OPNOTSUPP && preserve.mode == ModePolicy::Keep {
        return Lost::by(Keep::Must, What::Permissions, errno);
    }
    Lost::by(preserve.xattr.max(preserve.context), What::Xattr, errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_classes() {
        assert_eq!(class(c"user.note"), Class::Plain);
        assert_eq!(class(c"security.capability"), Class::Plain);
        assert_eq!(class(c"security.selinux"), Class::Context);
        assert_eq!(class(c"system.posix_acl_access"), Class::Acl);
        assert_eq!(class(c"system.nfs4_acl"), Class::Left);
        // A layer of an overlay that is copied or moved stays one.
        assert_eq!(class(c"trusted.overlay.opaque"), Class::Plain);
    }
}
