//! Attributes of a source that its target gets after its data.
//!
//! [`attributes::apply`] sets them in the only right order; flags come last. Flags that count for the bytes come
//! before all others, and flags that forbid every change at the end of the run: see [`Flags`].

pub(crate) mod by_name;
mod flags;
mod mode;
pub(crate) mod owners;
pub(crate) mod striping;
mod wanted;
mod xattr;

use std::os::fd::BorrowedFd;

use haul_io::attributes;
use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat, TimePair, fchmod, fstat};

use crate::data::error::{Severity, What};
use crate::data::request::{Keep, ModePolicy, Policy, Striping};
use crate::decide;

pub(crate) use flags::{Flags, PossibleFlags, Projects};
pub(crate) use mode::{creation as creation_mode, default_grants, granted as granted_mode};
use wanted::{set, wanted};
pub(crate) use xattr::{
    Attributes, copied as copied_attributes, lists_at, of_name as attributes_at,
};

/// Attribute that the run could not preserve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) what: What,
    pub(crate) errno: Errno,
    pub(crate) severity: Severity,
}

/// Whether a copy has every attribute that it has to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    #[default]
    All,
    /// A failure was reported.
    NotAll,
}

impl Kept {
    /// Returns what two steps have kept together.
    pub(crate) fn and(self, other: Kept) -> Kept {
        if self == Kept::All { other } else { self }
    }
}

impl Lost {
    /// Returns the report of a failure to preserve an attribute. The policy determines how the run
    /// reports an attribute that the target does not support; every other failure loses an
    /// attribute of the source, and counts as a failure.
    pub(crate) fn by(keep: Keep, what: What, errno: Errno) -> Option<Lost> {
        let severity = match (keep, cannot_have(what, errno)) {
            (Keep::No, _) | (Keep::Try, true) => return None,
            // Under `--preserve=all`, a file system without attributes causes no message.
            (Keep::Warn, true) if is_unknown_to_file_system(what, errno) => return None,
            (Keep::Warn, true) => Severity::Warning,
            (Keep::Try | Keep::Warn, false) | (Keep::Must, _) => Severity::Failure,
        };
        Some(Lost { what, errno, severity })
    }
}

/// Returns whether the file system of the target has no attributes of this kind.
fn is_unknown_to_file_system(what: What, errno: Errno) -> bool {
    match what {
        What::Xattr => errno == Errno::OPNOTSUPP,
        What::Flags => matches!(errno, Errno::OPNOTSUPP | Errno::NOTTY),
        _ => false,
    }
}

/// Returns whether a failure to set an attribute means that the target cannot have it: see
/// [`Attribute::cannot_be_had`](attributes::Attribute::cannot_be_had).
pub(crate) fn cannot_have(what: What, errno: Errno) -> bool {
    let attribute = match what {
        What::Ownership => attributes::Attribute::Owner,
        What::Permissions => attributes::Attribute::Permissions,
        What::Times => attributes::Attribute::Times,
        What::Xattr => attributes::Attribute::Extended(c""),
        What::Flags => attributes::Attribute::Flags,
        _ => return false,
    };
    attribute.cannot_be_had(errno)
}

/// How the run made a target, as far as that affects its attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTarget {
    /// Mode that the run passed to the call that made the target; `None` if the target existed
    /// before.
    pub(crate) mode: Option<u32>,
    /// Whether the directory of the target passes a default ACL on to it.
    pub(crate) inherits_acl: bool,
    /// Current owner and group of the target.
    pub(crate) owner: (u32, u32),
}

/// Attributes of a source that its target gets.
#[derive(Clone, Copy)]
struct SourceAttributes<'a> {
    stat: &'a Stat,
    extended: &'a Attributes,
    flags: Flags,
}

/// Open source whose flags were read before its bytes.
#[derive(Clone, Copy)]
pub(crate) struct OpenSource<'a> {
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) stat: &'a Stat,
    pub(crate) flags: Flags,
}

/// Applies to an open target every attribute of an open source that the policy preserves, except the flags
/// that come after its names.
pub(crate) fn keep(
    source: OpenSource<'_>,
    target: BorrowedFd<'_>,
    made: NewTarget,
    policy: &Policy,
) -> Vec<Lost> {
    if !keeps_anything(policy) {
        return Vec::new();
    }
    let mut lost = Vec::new();
    let OpenSource { file, stat, flags } = source;
    let extended = &Attributes::read(file, policy, &mut lost);
    let widened = made.mode.map(|_| decide::usual_mode(stat, policy) & !policy.umask);
    let source = SourceAttributes { stat, extended, flags };
    apply(target, source, made, policy, widened, &mut lost);
    lost
}

/// Applies attributes. `otherwise` are the permission bits that the target gets where the policy preserves none.
fn apply(
    target: BorrowedFd<'_>,
    source: SourceAttributes<'_>,
    made: NewTarget,
    policy: &Policy,
    otherwise: Option<u32>,
    lost: &mut Vec<Lost>,
) {
    let SourceAttributes { stat, extended, flags } = source;
    let mut wanted = wanted(stat, extended, policy, otherwise);
    if made.mode.is_some() && !made.inherits_acl {
        wanted.lists = wanted.lists.of_new();
    }
    // If the target existed before, the run first clears the bits that the final mode does not have. At no time,
    // therefore, do the new group or other users have more access than at the end. Removing an ACL turns its mask into
    // the group bits, so the run clears the excess bits before that removal, too.
    if policy.preserve.mode == ModePolicy::Keep
        && made.mode.is_none()
        && let Err(error) = mode::narrow(target, stat)
    {
        lost.extend(Lost::by(Keep::Must, What::Permissions, error.errno));
        wanted.keep_owner(made.owner);
    }
    // The call that made a file may already have set exactly these bits.
    // A default list stands for the umask.
    let is_known = stat.kind() == Kind::Regular && !made.inherits_acl;
    let bits = made.mode.filter(|_| is_known).map(|mode| mode & !policy.umask);
    let known = attributes::Known { owner: Some(made.owner), bits };
    set(attributes::Target::File(target), known, &wanted, policy, lost);
    flags.apply(target, stat.kind(), policy, lost);
}

/// Returns whether the policy preserves any attribute that the run applies after the data.
pub(crate) fn keeps_anything(policy: &Policy) -> bool {
    let kept = &policy.preserve;
    kept.mode == ModePolicy::Keep
        || kept.ownership.wanted()
        || kept.times.wanted()
        || kept.xattr.wanted()
        || kept.context.wanted()
        || kept.flags.wanted()
}

/// Attributes that a directory gets when its last child is done; the run reads them when it enters
/// the directory.
pub(crate) struct DirectoryAttributes {
    stat: Option<Box<(Stat, Attributes)>>,
    /// Flags of the source directory, if the run has read them.
    flags: Option<Flags>,
    /// Mode to set if the policy preserves no mode but the run had to widen the owner's bits
    /// temporarily.
    narrowed_mode: Option<u32>,
    made: NewTarget,
}

impl DirectoryAttributes {
    pub(crate) fn nothing() -> DirectoryAttributes {
        let made = NewTarget { mode: None, inherits_acl: false, owner: (0, 0) };
        DirectoryAttributes { stat: None, flags: None, narrowed_mode: None, made }
    }

    /// Reads the attributes to preserve of a source directory.
    pub(crate) fn read(
        source: BorrowedFd<'_>,
        stat: &Stat,
        made: NewTarget,
        narrowed_mode: Option<u32>,
        policy: &Policy,
    ) -> (DirectoryAttributes, Vec<Lost>) {
        let mut lost = Vec::new();
        let is_due = keeps_anything(policy) || policy.striping == Striping::Keep;
        let stat = is_due.then(|| {
            let mut attributes = Attributes::read(source, policy, &mut lost);
            attributes.add_striping(source, policy, &mut lost);
            Box::new((*stat, attributes))
        });
        (DirectoryAttributes { stat, flags: None, narrowed_mode, made }, lost)
    }

    /// Adds the flags of the source directory.
    pub(crate) fn with_flags(self, flags: Flags) -> DirectoryAttributes {
        DirectoryAttributes { flags: Some(flags), ..self }
    }

    /// Returns whether files in the source directory may have a project.
    pub(crate) fn projects(&self) -> Projects {
        self.flags.map_or(Projects::Possible, Flags::projects_below)
    }

    /// Returns the flags of the source directory and its state, if it is immutable or append-only.
    pub(crate) fn pinning(&self) -> Option<(Flags, Stat)> {
        let flags = self.flags.filter(|flags| flags.pins())?;
        self.stat.as_deref().map(|(stat, _)| (flags, *stat))
    }

    /// Returns whether a directory has got all its attributes by an earlier run, which has made it immutable or
    /// append-only afterwards: it cannot get them again.
    fn are_final(&self, target: BorrowedFd<'_>, policy: &Policy) -> bool {
        let Some((_, stat)) = self.pinning().filter(|_| flags::is_pinned(target)) else {
            return false;
        };
        let kept = &policy.preserve;
        fstat(target).is_ok_and(|now| {
            (kept.mode != ModePolicy::Keep || now.permissions() == stat.permissions())
                && (!kept.ownership.wanted() || (now.uid, now.gid) == (stat.uid, stat.gid))
                && (!kept.times.wanted() || now.mtime == stat.mtime)
        })
    }

    /// Returns whether a directory has all its attributes already. Makes two calls.
    pub(crate) fn are_set(&self, target: BorrowedFd<'_>, policy: &Policy) -> bool {
        let Some((stat, extended)) = self.stat.as_deref() else {
            return self.narrowed_mode.is_none();
        };
        let kept = &policy.preserve;
        let is_open = kept.mode == ModePolicy::Keep || kept.xattr.wanted();
        self.made.mode.is_none()
            && (kept.mode == ModePolicy::Keep || self.narrowed_mode.is_none())
            && self.flags.is_none_or(|flags| flags == Flags::default())
            && fstat(target).is_ok_and(|now| {
                (kept.mode != ModePolicy::Keep || now.permissions() == stat.permissions())
                    && (!kept.ownership.wanted() || (now.uid, now.gid) == (stat.uid, stat.gid))
                    && (!kept.times.wanted() || now.mtime == stat.mtime)
            })
            && (!is_open || extended.are_of(target, policy))
    }

    /// Returns whether there are attributes to apply, so that the run does not open a directory
    /// again needlessly.
    pub(crate) fn is_due(&self) -> bool {
        self.stat.is_some() || self.narrowed_mode.is_some()
    }

    /// Returns whether the final mode forbids the owner to make and remove entries.
    pub(crate) fn denies_changes(&self, policy: &Policy) -> bool {
        let kept = self.stat.as_deref().filter(|_| policy.preserve.mode == ModePolicy::Keep);
        let mode = kept.map(|(stat, _)| stat.permissions()).or(self.narrowed_mode);
        mode.is_some_and(|mode| mode & 0o300 != 0o300)
    }

    /// Removes the extended attributes of the open target directory that the source does not have, if the policy
    /// preserves them.
    pub(crate) fn remove_others(&self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        match self.stat.as_deref() {
            Some((_, extended)) if policy.preserve.xattr.wanted() => {
                extended.remove_others(target, policy)
            }
            _ => Vec::new(),
        }
    }

    /// Applies all attributes to the open target directory.
    pub(crate) fn apply(&self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        let mut lost = Vec::new();
        if self.are_final(target, policy) {
            return lost;
        }
        match self.stat.as_deref() {
            Some((stat, extended)) => {
                let source =
                    SourceAttributes { stat, extended, flags: self.flags.unwrap_or_default() };
                apply(target, source, self.made, policy, self.narrowed_mode, &mut lost);
            }
            None => {
                let failed = self.narrowed_mode.and_then(|mode| fchmod(target, mode).err());
                lost.extend(
                    failed.and_then(|error| Lost::by(Keep::Must, What::Permissions, error.errno)),
                );
            }
        }
        lost
    }
}

/// Returns the times of a source in the form in which the run sets them on the target.
pub(crate) const fn times_of(stat: &Stat) -> TimePair {
    TimePair { atime: stat.atime, mtime: stat.mtime }
}

pub(crate) use haul_io::attributes::Extended as Attribute;
