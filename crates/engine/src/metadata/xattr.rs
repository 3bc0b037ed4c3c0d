//! Extended attributes: the run reads all of them from the source first, and sets them on the
//! target later.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_io::attributes::{ACCESS_LIST, CONTEXT, DEFAULT_LIST};
use haul_sys::Errno;
use haul_sys::fs::{
    Follow, OpenHow, fgetxattr, flistxattr, fremovexattr, lgetxattr_at, llistxattr_at, openat,
};

use super::{Attribute, Lost};
use crate::data::error::What;
use crate::data::request::{Keep, ModePolicy, Policy, Striping};
use crate::metadata::striping;
use crate::names::at::At;

/// Attributes of a source that the policy preserves.
#[derive(Default)]
pub(crate) struct Attributes {
    plain: Vec<Attribute>,
    lists: Vec<Attribute>,
}

/// How the run treats an attribute with a given name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Plain,
    Acl,
    Context,
    /// Striping on Lustre, which a file gets before its bytes, and a directory with its attributes.
    Striping,
    /// Not copied: the attribute belongs to the file system or to one machine, as in
    /// `/etc/xattr.conf`.
    Left,
}

fn class(name: &CStr) -> Class {
    let bytes = name.to_bytes();
    if name == ACCESS_LIST || name == DEFAULT_LIST {
        return Class::Acl;
    }
    if name == CONTEXT {
        return Class::Context;
    }
    if name == striping::ATTRIBUTE {
        return Class::Striping;
    }
    // `system.*` attributes are other interfaces to NFS ACLs and rich ACLs.
    const LEFT: &[&[u8]] = &[b"system.", b"trusted.SGI_", b"security.evm", b"lustre.", b"afs."];
    // Lustre's own records of an inode, which it lists for root (`XATTR_NAME_*` in `lustre_idl.h`).
    const OF_LUSTRE: &[&[u8]] = &[
        b"trusted.dmv",
        b"trusted.fid",
        b"trusted.hsm",
        b"trusted.link",
        b"trusted.lma",
        b"trusted.lmv",
        b"trusted.lov",
        b"trusted.som",
        b"trusted.version",
    ];
    if LEFT.iter().any(|prefix| bytes.starts_with(prefix)) || OF_LUSTRE.contains(&bytes) {
        return Class::Left;
    }
    Class::Plain
}

impl Attributes {
    /// Reads the attributes that the policy preserves. A file without attributes, the usual case,
    /// costs one call.
    pub(crate) fn read(
        source: BorrowedFd<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) -> Attributes {
        if !Attributes::are_wanted(policy) {
            return Attributes::default();
        }
        Attributes::gather(flistxattr(source), |name| fgetxattr(source, name), policy, lost)
    }

    /// Returns whether the policy preserves any.
    pub(super) fn are_wanted(policy: &Policy) -> bool {
        let preserve = &policy.preserve;
        preserve.xattr.wanted() || preserve.mode == ModePolicy::Keep || preserve.context.wanted()
    }

    /// Reads those of the named attributes that the policy preserves.
    pub(super) fn gather(
        names: haul_sys::Result<Vec<CString>>,
        value: impl Fn(&CStr) -> haul_sys::Result<Vec<u8>>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) -> Attributes {
        let mut attributes = Attributes::default();
        let names = match names {
            Ok(names) => names,
            Err(error) => {
                lost.extend(unlisted(error.errno, policy));
                return attributes;
            }
        };
        for name in names {
            let (what, keep) = kept(&name, policy);
            if keep == Keep::No || what == What::Striping {
                continue;
            }
            let list = match what {
                What::Permissions => &mut attributes.lists,
                _ => &mut attributes.plain,
            };
            match value(&name) {
                Ok(value) => list.push((name, value)),
                // Another process removed the attribute after the run listed it.
                Err(error) if error.errno == Errno::NODATA => {}
                Err(error) => lost.extend(lost_value(&name, error.errno, policy)),
            }
        }
        attributes
    }

    /// Adds the striping that files in a directory get by default, if the policy preserves it.
    pub(super) fn add_striping(
        &mut self,
        directory: BorrowedFd<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        let name = striping::ATTRIBUTE;
        match striping::of_directory(policy.striping, directory) {
            Ok(Some(layout)) => self.plain.push((name.to_owned(), layout)),
            Ok(None) => {}
            Err(error) => lost.extend(lost_value(name, error.errno, policy)),
        }
    }

    /// Returns whether a target has exactly these attributes, as far as the policy preserves them.
    pub(super) fn are_of(&self, target: BorrowedFd<'_>, policy: &Policy) -> bool {
        let mut lost = Vec::new();
        let theirs = Attributes::read(target, policy, &mut lost);
        let sorted = |list: &[Attribute]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        lost.is_empty()
            && sorted(&self.plain) == sorted(&theirs.plain)
            && sorted(&self.lists) == sorted(&theirs.lists)
    }

    /// Removes attributes that are not among these.
    pub(super) fn remove_others(&self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        let mut lost = Vec::new();
        let theirs = Attributes::read(target, policy, &mut lost);
        let is_other = |name: &CString| !self.plain.iter().any(|(own, _)| own == name);
        for (name, _) in theirs.plain.iter().filter(|(name, _)| is_other(name)) {
            if let Err(error) = fremovexattr(target, name) {
                lost.extend(lost_value(name, error.errno, policy));
            }
        }
        lost
    }

    /// Returns the attributes except the access-control lists.
    pub(super) fn plain(&self) -> &[Attribute] {
        &self.plain
    }

    pub(super) fn acl(&self, name: &CStr) -> Option<&[u8]> {
        self.lists.iter().find(|list| list.0.as_c_str() == name).map(|list| list.1.as_slice())
    }
}

/// Returns the kind of an attribute, and how strictly the policy preserves it.
fn kept(name: &CStr, policy: &Policy) -> (What, Keep) {
    match class(name) {
        Class::Plain => (What::Xattr, policy.preserve.xattr),
        Class::Context => (What::Xattr, policy.preserve.context),
        Class::Acl if policy.preserve.mode == ModePolicy::Keep => (What::Permissions, Keep::Must),
        Class::Striping if policy.striping == Striping::Keep => (What::Striping, Keep::Must),
        Class::Acl | Class::Striping | Class::Left => (What::Xattr, Keep::No),
    }
}

/// Returns the report of the loss of one attribute. If the policy preserves a security context only
/// where possible, a failure causes no report: the machine's security policy decides, and may
/// refuse the context with many errnos.
pub(super) fn lost_value(name: &CStr, errno: Errno, policy: &Policy) -> Option<Lost> {
    let (what, keep) = kept(name, policy);
    if class(name) == Class::Context && keep == Keep::Try {
        return None;
    }
    Lost::by(keep, what, errno)
}

/// Returns the attributes of an open file that a copy preserves, sorted by name.
pub(crate) fn copied(fd: BorrowedFd<'_>) -> haul_sys::Result<Vec<Attribute>> {
    let names = match flistxattr(fd) {
        Err(error) if error.errno == Errno::OPNOTSUPP => Vec::new(),
        names => names?,
    };
    let mut found = Vec::new();
    for name in names {
        if !matches!(class(&name), Class::Left | Class::Striping | Class::Context) {
            let value = fgetxattr(fd, &name)?;
            found.push((name, value));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the attributes of a name that a copy preserves, without access-control lists, sorted by name; of the name
/// itself, or of what it leads to.
pub(crate) fn of_name(at: At<'_>, follow: Follow) -> haul_sys::Result<Vec<Attribute>> {
    by_class(at, follow, Class::Plain)
}

/// Returns the access-control lists of a name, in the same form.
pub(crate) fn lists_at(at: At<'_>, follow: Follow) -> haul_sys::Result<Vec<Attribute>> {
    by_class(at, follow, Class::Acl)
}

fn by_class(
    At { directory, name }: At<'_>,
    follow: Follow,
    wanted: Class,
) -> haul_sys::Result<Vec<Attribute>> {
    let opened = match follow {
        Follow::Yes => Some(openat(directory, name, OpenHow::READ.following(follow))?),
        Follow::No => None,
    };
    let names = match &opened {
        Some(file) => flistxattr(file),
        None => llistxattr_at(directory, name),
    };
    let names = match names {
        Err(error) if error.errno == Errno::OPNOTSUPP => Vec::new(),
        names => names?,
    };
    let mut found = Vec::new();
    for attribute in names.into_iter().filter(|name| class(name) == wanted) {
        let value = match &opened {
            Some(file) => fgetxattr(file, &attribute),
            None => lgetxattr_at(directory, name, &attribute),
        };
        match value {
            Ok(value) => found.push((attribute, value)),
            // Another process removed the attribute after the run listed it.
            Err(error) if error.errno == Errno::NODATA => {}
            Err(error) => return Err(error),
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the report of the loss if the run cannot list the attributes of a source. A file system
/// without attributes loses none, unless the user requested attributes.
fn unlisted(errno: Errno, policy: &Policy) -> Option<Lost> {
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
        assert_eq!(class(c"lustre.lov"), Class::Striping);
        assert_eq!(class(c"trusted.lov"), Class::Left);
        assert_eq!(class(c"trusted.lover"), Class::Plain);
        assert_eq!(class(c"afs.acl"), Class::Left);
        // A copied or moved layer of an overlay stays a layer.
        assert_eq!(class(c"trusted.overlay.opaque"), Class::Plain);
    }
}
