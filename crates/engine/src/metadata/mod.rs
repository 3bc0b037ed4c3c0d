//! Attributes that follow the data, applied in the only right order to an open file.
//!
//! The order: owner (which clears setuid, setgid and capabilities), then extended attributes
//! (which a read-only mode would forbid), then access-control list and mode, then times (which
//! everything before would change).

mod acl;
pub(crate) mod by_name;
mod mode;
mod owner;
mod times;
mod xattr;

use std::ffi::CString;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Stat, TimePair};

use crate::error::{Severity, What};
use crate::request::{Keep, ModePolicy, Policy};

pub(crate) use acl::has_default as has_default_acl;
pub(crate) use mode::creation as creation_mode;
use owner::Owned;
pub(crate) use xattr::{Attributes, copied as copied_attributes};

/// Something that could not be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) what: What,
    pub(crate) errno: Errno,
    pub(crate) severity: Severity,
}

impl Lost {
    /// Makes a report of a failure to keep an attribute. What the target cannot have is reported as
    /// the policy says; every other failure loses something that was there, and counts.
    fn by(keep: Keep, what: What, errno: Errno) -> Option<Lost> {
        let severity = match (keep, cannot_have(what, errno)) {
            (Keep::No, _) | (Keep::Try, true) => return None,
            // Under `--preserve=all` a file system without attributes is not worth a word.
            (Keep::Warn, true) if what == What::Xattr && errno == Errno::OPNOTSUPP => return None,
            (Keep::Warn, true) => Severity::Warning,
            (Keep::Try | Keep::Warn, false) | (Keep::Must, _) => Severity::Failure,
        };
        Some(Lost { what, errno, severity })
    }
}

/// Returns whether a failure to set an attribute means that the target cannot have it: its file system
/// has no such attribute, or this user may not set it. Other failures (a full disk, a quota, an I/O
/// error, a limit of size) are about this one file.
pub(crate) fn cannot_have(what: What, errno: Errno) -> bool {
    match what {
        // fchown(2): EINVAL for an ID that the mount or the user namespace cannot express.
        What::Ownership => matches!(errno, Errno::OPNOTSUPP | Errno::PERM | Errno::INVAL),
        What::Permissions | What::Times => matches!(errno, Errno::OPNOTSUPP | Errno::PERM),
        // setxattr(2): EPERM for a namespace that needs privileges, or a kind of file without attributes.
        What::Xattr => matches!(errno, Errno::OPNOTSUPP | Errno::PERM),
        _ => false,
    }
}

/// How a target came about, as far as its attributes are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTarget {
    /// The mode that was given to the call that made it, if it was made.
    pub(crate) mode: Option<u32>,
    /// Whether the directory that it was made in hands an access-control list down.
    pub(crate) inherits_acl: bool,
    /// The owner and group it has now.
    pub(crate) owner: (u32, u32),
}

/// Applies to an open target everything that the policy keeps of an open source.
pub(crate) fn keep(
    (source, stat): (BorrowedFd<'_>, &Stat),
    target: BorrowedFd<'_>,
    made: NewTarget,
    policy: &Policy,
) -> Vec<Lost> {
    let kept = &policy.preserve;
    if !keeps_anything(policy) {
        return Vec::new();
    }
    let mut lost = Vec::new();
    let attributes = Attributes::read(source, policy, &mut lost);
    let owned = give(target, stat, made, policy, &mut lost);
    attributes.apply(target, policy, &mut lost);
    if kept.mode == ModePolicy::Keep {
        mode::keep(target, (stat, &attributes), (made, owned), policy, &mut lost);
    } else if let Some(made) = made.mode {
        lost.extend(mode::widen(target, stat, made, policy));
    }
    if kept.times.wanted() {
        lost.extend(times::keep(target, stat, kept.times));
    }
    lost
}

/// Gives the target its owner. A target that was there before first loses the bits that its new owner
/// does not want it to have, so that at no moment its new group, or anybody, can do more than in the end.
fn give(
    target: BorrowedFd<'_>,
    stat: &Stat,
    made: NewTarget,
    policy: &Policy,
    lost: &mut Vec<Lost>,
) -> Owned {
    // Taking a list away leaves its mask as the group's bits, so this comes before that, too.
    if policy.preserve.mode == ModePolicy::Keep
        && made.mode.is_none()
        && let Err(error) = mode::narrow(target, stat)
    {
        lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno));
        let is_alike = made.owner == (stat.uid, stat.gid);
        return if is_alike { Owned::Alike } else { Owned::Differently };
    }
    let (owned, failure) = owner::keep(target, stat, made.owner, policy);
    lost.extend(failure);
    owned
}

/// Tells whether the policy keeps anything that is applied after the data.
pub(crate) fn keeps_anything(policy: &Policy) -> bool {
    let kept = &policy.preserve;
    kept.mode == ModePolicy::Keep
        || kept.ownership.wanted()
        || kept.times.wanted()
        || kept.xattr.wanted()
        || kept.context.wanted()
}

/// What a directory gets when its last child is done. Read when the directory is entered.
pub(crate) struct DirectoryAttributes {
    stat: Option<Box<(Stat, Attributes)>>,
    /// The mode to set where nothing is kept but the owner's bits had to be widened meanwhile.
    narrowed_mode: Option<u32>,
    made: NewTarget,
}

impl DirectoryAttributes {
    pub(crate) fn nothing() -> DirectoryAttributes {
        let made = NewTarget { mode: None, inherits_acl: false, owner: (0, 0) };
        DirectoryAttributes { stat: None, narrowed_mode: None, made }
    }

    /// Reads what is to be kept of a source directory.
    pub(crate) fn read(
        source: BorrowedFd<'_>,
        stat: &Stat,
        made: NewTarget,
        narrowed_mode: Option<u32>,
        policy: &Policy,
    ) -> (DirectoryAttributes, Vec<Lost>) {
        let mut lost = Vec::new();
        let stat = keeps_anything(policy).then(|| {
            let attributes = Attributes::read(source, policy, &mut lost);
            Box::new((*stat, attributes))
        });
        (DirectoryAttributes { stat, narrowed_mode, made }, lost)
    }

    /// Tells whether there is anything to do, so that a directory is not opened again for nothing.
    pub(crate) fn is_due(&self) -> bool {
        self.stat.is_some() || self.narrowed_mode.is_some()
    }

    /// Applies everything to the open target directory.
    pub(crate) fn apply(&self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        let mut lost = Vec::new();
        let Some(kept) = &self.stat else {
            lost.extend(self.narrowed_mode.and_then(|mode| mode::set(target, mode)));
            return lost;
        };
        let (stat, attributes) = &**kept;
        let owned = give(target, stat, self.made, policy, &mut lost);
        attributes.apply(target, policy, &mut lost);
        if policy.preserve.mode == ModePolicy::Keep {
            mode::keep(target, (stat, attributes), (self.made, owned), policy, &mut lost);
        } else {
            lost.extend(self.narrowed_mode.and_then(|mode| mode::set(target, mode)));
        }
        if policy.preserve.times.wanted() {
            lost.extend(times::keep(target, stat, policy.preserve.times));
        }
        lost
    }
}

/// The times of a source, as they are set on the target.
pub(crate) const fn times_of(stat: &Stat) -> TimePair {
    TimePair { atime: stat.atime, mtime: stat.mtime }
}

/// An attribute: its name and its value.
pub(crate) type Attribute = (CString, Vec<u8>);
