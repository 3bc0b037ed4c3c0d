//! What an entry is, by its kind, its place and the policy: rules that several decisions share.

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat};

use super::facts::{Role, Seen};
use crate::error::What;
use crate::request::{Borders, Dereference, Links, Make, Policy};

/// Tells whether an entry that is a link stands for what it leads to.
#[must_use]
pub(crate) fn follows(role: Role, policy: &Policy) -> Follow {
    match (role, policy.dereference) {
        (Role::Leading, _) | (_, Dereference::Always) => Follow::Yes,
        (Role::Operand, Dereference::Operands) => Follow::Yes,
        (Role::Operand | Role::Inside, Dereference::Operands | Dereference::Never) => Follow::No,
    }
}

/// Tells whether a file may come along again under another name and is to stay one file: it has several
/// names, or links are followed, which are names, too.
#[must_use]
pub(crate) fn is_tracked(role: Role, stat: &Stat, policy: &Policy) -> bool {
    policy.preserve.links == Links::Keep
        && stat.kind() != Kind::Directory
        && matches!(policy.make, Make::Copy | Make::Attributes)
        && (stat.nlink > 1 || follows(role, policy) == Follow::Yes)
}

/// Tells whether what is in a directory is copied: with `-x` a mount point stays empty.
#[must_use]
pub(crate) fn is_entered(dev: u64, root_dev: u64, policy: &Policy) -> bool {
    policy.borders == Borders::Cross || dev == root_dev
}

/// What an entry consists of, as it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Bytes: a regular file, or a FIFO or device that is read like one.
    Data,
    /// Entries.
    Directory,
    /// The text of a symbolic link.
    Symlink,
    /// Nothing: a FIFO, a socket or a device that is made anew.
    Special,
}

/// Returns what an entry of this kind consists of.
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

/// Returns the call that makes an entry of this kind, by the failure that it may end in.
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

/// Returns what the kernel says of a refused target.
#[must_use]
pub(crate) const fn errno_of_refusal(what: What) -> Option<Errno> {
    if matches!(what, What::StatTarget) { Some(Errno::LOOP) } else { None }
}
