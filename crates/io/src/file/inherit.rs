//! Inherited metadata: a file that replaces another takes over what an overwritten file would have
//! kept.
//!
//! Writing to a file in place changes its bytes and leaves its owner, bits, lists and flags alone. So that
//! a user need not know which of the two was done, the file that takes its place gets the same
//! ones. `cp`, `mv` and `write` share these rules.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::fs::{
    Follow, OpenHow, Stat, fgetxattr, flistxattr, fstat, inode_flags, lgetxattr_at, llistxattr_at,
    openat, project,
};
use haul_sys::{CallError, Errno, Result};

use super::attributes::{
    ACCESS_LIST, Attribute, CONTEXT, Extended, Known, List, Lists, Otherwise, Owner, Permissions,
    Target, Wanted, apply,
};
use super::flags::{self, KEPT, Origin, PINNING, has_none};

/// The file that is replaced: where it is, and how it was when it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Predecessor<'a> {
    /// The directory that contains it.
    pub directory: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a CStr,
    /// Its attributes.
    pub seen: &'a Stat,
}

/// Which attributes the new file gets from elsewhere, and so does not inherit.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenOtherwise {
    /// Owner and group.
    pub ownership: bool,
    /// Permission bits and the access list.
    pub mode: bool,
    /// Extended attributes other than the access list.
    pub xattr: bool,
}

/// What could not be inherited, where that is worth a warning and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The owner or the group: unprivileged users cannot give files away.
    Owner,
    /// An extended attribute.
    Xattr,
    /// A flag that chattr(1) sets, or the project.
    Flags,
}

/// What failed, where going on could give a user rights that the old file did not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Reading the old file's attributes.
    Describe,
    /// Setting the bits or the access list.
    Permissions,
    /// Carrying an extended attribute over that the new file could have.
    Xattr,
}

/// Gives an empty file the flags and the project of an open one that it is to replace: some of them count only for
/// bytes that are written later. A file that is immutable or append-only cannot be replaced, so these two flags are
/// left out. `directory` is the one in which the file gets its name: see [`Origin`]. `tell` is called
/// for each loss.
pub fn take_over_flags(
    fd: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    old: BorrowedFd<'_>,
    tell: &mut dyn FnMut(Lost, Errno),
) {
    let flags = match inode_flags(old) {
        Ok(flags) => flags::add(fd, flags.common(KEPT).without(PINNING)),
        Err(error) if has_none(error.errno) => Ok(()),
        Err(error) => Err(error.errno),
    };
    let project = match project(old) {
        Ok(number) => flags::join_project(fd, number, Origin::Other(directory, c".")),
        Err(error) if has_none(error.errno) => Ok(()),
        Err(error) => Err(error.errno),
    };
    for lost in [flags, project].into_iter().filter_map(std::result::Result::err) {
        tell(Lost::Flags, lost);
    }
}

/// Opens a file that is to be replaced, so that its flags can be read: for writing where it cannot be read.
///
/// # Errors
///
/// Fails as openat(2) does, with the error of the attempt to read.
pub fn open_replaced(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    openat(directory, name, OpenHow::READ.following(Follow::No)).or_else(|refused| {
        openat(directory, name, OpenHow::WRITE.following(Follow::No)).map_err(|_| refused)
    })
}

/// Gives a file the owner, lists and bits of the one that it is to replace.
///
/// `opened` is the old file opened for reading, or why that failed. `tell` is called for each loss that
/// is only worth a warning.
pub fn take_over(
    fd: BorrowedFd<'_>,
    old: &Predecessor<'_>,
    opened: Result<OwnedFd>,
    given: GivenOtherwise,
    tell: &mut dyn FnMut(Lost, Errno),
) -> std::result::Result<(), (Failed, Errno)> {
    let now = fstat(fd).map_err(|error| (Failed::Describe, error.errno))?;
    let attributes = match opened {
        Ok(file) => by_descriptor(&file),
        // What may be written but not read: its lists are a part of its bits, the rest is not.
        Err(error) if matches!(error.errno, Errno::ACCESS | Errno::PERM) => by_name(old),
        Err(error) => Err(error),
    };
    let attributes = attributes.map_err(|error| (Failed::Describe, error.errno))?;
    let Kept { extended, list, has_list } = kept(attributes, given, tell)?;
    let access = match &list {
        _ if given.mode => List::Leave,
        Some(list) => List::Set(list),
        // A directory with a default list gave the new file one, which names users that the old file gave no
        // permission.
        None if !has_list => List::Remove,
        None => List::Leave,
    };
    let Stat { uid, gid, .. } = *old.seen;
    // Writing clears what runs with another's rights.
    let bits = old.seen.permissions() & 0o777;
    let wanted = Wanted {
        owner: (!given.ownership).then_some(Owner { uid, gid, otherwise: Otherwise::GroupAlone }),
        extended: &extended,
        lists: Lists { access, default: List::Leave },
        permissions: (!given.mode).then_some(Permissions::plain(bits)),
        times: None,
    };
    let mut failed = Ok(());
    let _withheld = apply(Target::File(fd), Known::of(&now), &wanted, &mut |attribute, error| {
        let refused = match attribute {
            Attribute::Owner => {
                tell(Lost::Owner, error.errno);
                return;
            }
            Attribute::Extended(name) => lost(name, error, tell),
            _ => Err((Failed::Permissions, error.errno)),
        };
        if failed.is_ok() {
            failed = refused;
        }
    });
    failed
}

type Named = (Result<Vec<u8>>, CString);

/// What a new file takes over of the attributes of the old one.
struct Kept {
    extended: Vec<Extended>,
    list: Option<Vec<u8>>,
    /// Whether the old file has a list, taken over or not.
    has_list: bool,
}

fn kept(
    attributes: Vec<Named>,
    given: GivenOtherwise,
    tell: &mut dyn FnMut(Lost, Errno),
) -> std::result::Result<Kept, (Failed, Errno)> {
    let mut kept = Kept { extended: Vec::new(), list: None, has_list: false };
    for (value, name) in attributes {
        let is_list = name.as_c_str() == ACCESS_LIST;
        kept.has_list |= is_list;
        // The kernel takes a file's capabilities away when it is written to.
        let given_otherwise = name.to_bytes() == b"security.capability"
            || (is_list && given.mode)
            || (!is_list && given.xattr);
        if given_otherwise || (name.to_bytes().starts_with(b"system.") && !is_list) {
            continue;
        }
        match value {
            Ok(value) if is_list => kept.list = Some(value),
            Ok(value) => kept.extended.push((name, value)),
            Err(error) if error.errno == Errno::NODATA => {}
            Err(error) if is_list => return Err((Failed::Permissions, error.errno)),
            Err(error) => lost(&name, error, tell)?,
        }
    }
    Ok(kept)
}

/// Decides about an extended attribute that cannot be read or set. The old file goes when the new one gets its name,
/// and its attribute would go with it: only what this user may not read or set, or this file cannot have, is lost.
fn lost(
    name: &CStr,
    error: CallError,
    tell: &mut dyn FnMut(Lost, Errno),
) -> std::result::Result<(), (Failed, Errno)> {
    if !Attribute::Extended(name).is_forbidden(error.errno) && name != CONTEXT {
        return Err((Failed::Xattr, error.errno));
    }
    tell(Lost::Xattr, error.errno);
    Ok(())
}

fn by_descriptor(file: &OwnedFd) -> Result<Vec<Named>> {
    let names = none_where_unsupported(flistxattr(file.as_fd()))?;
    Ok(names.into_iter().map(|name| (fgetxattr(file, &name), name)).collect())
}

fn by_name(old: &Predecessor<'_>) -> Result<Vec<Named>> {
    let names = none_where_unsupported(llistxattr_at(old.directory, old.name))?;
    let read = |name: CString| (lgetxattr_at(old.directory, old.name, &name), name);
    Ok(names.into_iter().map(read).collect())
}

fn none_where_unsupported(names: Result<Vec<CString>>) -> Result<Vec<CString>> {
    match names {
        Err(error) if error.errno == Errno::OPNOTSUPP => Ok(Vec::new()),
        answer => answer,
    }
}
