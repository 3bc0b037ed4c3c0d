//! Classification of an entry by its kind, its place and the policy: rules that several decisions
//! share.

use std::ffi::CStr;

use haul_sys::fs::{Follow, Kind, Stat};

use super::facts::{Role, Seen};
use crate::data::error::What;
use crate::data::request::{Borders, Dereference, Links, Make, Policy, Recursion};

/// Returns whether the run follows a link at this place.
#[must_use]
pub(crate) fn follows(role: Role, policy: &Policy) -> Follow {
    match (role, policy.dereference) {
        (Role::Leading, _) | (_, Dereference::Always) => Follow::Yes,
        (Role::Operand, Dereference::Operands) => Follow::Yes,
        (Role::Operand | Role::Inside, Dereference::Operands | Dereference::Never) => Follow::No,
    }
}

/// Returns whether links that are found in a directory may be followed: directories may then contain themselves.
#[must_use]
pub(crate) fn follows_links(policy: &Policy) -> bool {
    let rules = policy.synchronize.as_ref();
    let follows = rules.is_some_and(|it| it.copies_directory_links || it.copies_unsafe_links);
    policy.dereference == Dereference::Always || follows
}

/// Returns whether the rules of a selection see what a link leads to.
#[must_use]
pub(crate) fn selects_as(role: Role, policy: &Policy) -> Follow {
    let rules = policy.synchronize.as_ref();
    match rules.is_some_and(|rules| rules.copies_directory_links) {
        true => Follow::Yes,
        false => follows(role, policy),
    }
}

/// Returns whether the run reads a directory that it makes under this name in the target: without recursion, only one
/// whose entries are given (`-d`).
#[must_use]
pub(crate) fn is_read(target: &CStr, policy: &Policy) -> bool {
    policy.recursion == Recursion::Yes
        || policy.synchronize.is_none()
        || target.to_bytes().ends_with(b"/")
}

/// Returns whether the run may meet a file again under another name and has to preserve its links.
/// This holds for a file with several names, and if the policy follows links, which are further
/// names.
#[must_use]
pub(crate) fn is_tracked(role: Role, stat: &Stat, policy: &Policy) -> bool {
    policy.preserve.links == Links::Keep
        && stat.kind() != Kind::Directory
        && matches!(policy.make, Make::Copy | Make::Attributes)
        && (stat.nlink > 1 || follows(role, policy) == Follow::Yes)
}

/// Returns whether the run copies the entries of a directory: with `-x` a mount point stays empty. Only
/// directories are borders: overlayfs gives a file the device of its layer (see "Non-directories" in the
/// kernel's Documentation/filesystems/overlayfs.rst), and a file may be a mount point, too.
#[must_use]
pub(crate) fn is_entered(dev: u64, root_dev: u64, policy: &Policy) -> bool {
    policy.borders == Borders::Cross || dev == root_dev
}

/// Contents of an entry, as the run copies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Bytes of a regular file, or of a FIFO or device that the run reads like one.
    Data,
    /// Entries of a directory.
    Directory,
    /// Text of a symbolic link.
    Symlink,
    /// No contents: a FIFO, socket or device that the run makes with mknod(2).
    Special,
}

/// Returns the contents of an entry of this kind.
#[must_use]
pub(crate) fn contents(kind: Kind, policy: &Policy) -> Contents {
    match kind {
        Kind::Regular => Contents::Data,
        Kind::Directory => Contents::Directory,
        Kind::Symlink => Contents::Symlink,
        Kind::Fifo | Kind::Socket | Kind::BlockDevice | Kind::CharDevice | Kind::Unknown => {
            if policy.reads_specials() {
                Contents::Data
            } else {
                Contents::Special
            }
        }
    }
}

/// Returns the call that makes an entry of this kind, as the failure that the call may cause.
#[must_use]
pub(crate) fn creation_call(kind: Kind, seen: Seen, policy: &Policy) -> What {
    match (kind, policy.make) {
        (Kind::Directory, _) => What::CreateDirectory,
        (_, Make::HardLink) => What::CreateHardLink,
        (_, Make::SymbolicLink) => What::LinkToSource,
        _ if seen == Seen::AsLink => What::CreateHardLink,
        (Kind::Symlink, _) => What::CreateSymlink,
        _ if contents(kind, policy) == Contents::Data => What::CreateFile,
        (Kind::Fifo, _) => What::CreateFifo,
        _ => What::CreateSpecial,
    }
}
