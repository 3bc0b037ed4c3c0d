//! Flags and project of files and directories, as chattr(1) sets them.
//!
//! A target gets the flags of its source and keeps those that its directory passed on to it: a directory that
//! was prepared with `chattr +C` has its effect on the copies in it. Flags that say how bytes are stored count
//! only for bytes that are written later, so a file gets them while it is empty. A file that is immutable or
//! append-only cannot be linked, renamed or described otherwise, so these two flags come after its names.

use std::os::fd::BorrowedFd;

use haul_io::quirk::{Chattr, Quirk};
use haul_sys::Errno;
use haul_sys::fs::{
    InodeFlags, Kind, flags_and_project, inode_flags, project, set_inode_flags, set_project,
};

use super::Lost;
use crate::data::error::What;
use crate::data::request::{Keep, Policy};

/// Flags of a source that its target is to get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    flags: InodeFlags,
    /// Project, 0 if there is none.
    project: u32,
}

/// Whether a file may have a project, so that it is worth a call of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projects {
    None,
    Possible,
}

/// Flags that say how the bytes are stored which a file gets later.
const BEFORE_BYTES: InodeFlags = InodeFlags::NO_COW
    .and(InodeFlags::COMPRESS)
    .and(InodeFlags::NO_COMPRESS)
    .and(InodeFlags::JOURNAL_DATA)
    .and(InodeFlags::NO_TAIL)
    .and(InodeFlags::DAX);

/// Flags that keep a file from being changed, linked and renamed.
const PINNING: InodeFlags = InodeFlags::IMMUTABLE.and(InodeFlags::APPEND_ONLY);

/// Flags that are attributes of the file and that a user can set. The others say how its file system has
/// stored it (extents, an index, encryption, verity), or how it compares names.
const KEPT: InodeFlags = BEFORE_BYTES
    .and(PINNING)
    .and(InodeFlags::SECURE_REMOVAL)
    .and(InodeFlags::UNDELETE)
    .and(InodeFlags::SYNC)
    .and(InodeFlags::NO_DUMP)
    .and(InodeFlags::NO_ATIME)
    .and(InodeFlags::DIR_SYNC)
    .and(InodeFlags::TOP_DIR)
    .and(InodeFlags::PROJECT_INHERIT);

/// Returns the flags that a copy keeps. An immutable copy could be neither replaced by the next run of the same
/// `cp -a` nor removed, so only a move, and who asks for flags by name, get one.
const fn kept(keep: Keep) -> InodeFlags {
    match keep {
        Keep::No | Keep::Try => KEPT.without(PINNING),
        Keep::Warn | Keep::Must => KEPT,
    }
}

impl Flags {
    /// Reads the flags of an open file or directory, if the policy preserves them. Makes one call, and one
    /// more where it may have a project that another call tells.
    pub(crate) fn read(
        source: BorrowedFd<'_>,
        (quirk, projects): (&Quirk, Projects),
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) -> Flags {
        if !policy.preserve.flags.wanted() {
            return Flags::default();
        }
        // With -a, a project is asked for where the directory has one; a move, and who asks for flags by name,
        // want it of every file.
        let projects = match policy.preserve.flags {
            Keep::Warn | Keep::Must => Projects::Possible,
            Keep::No | Keep::Try => projects,
        };
        let told = match (quirk.chattr, projects) {
            (Chattr::Nothing, _) => return Flags::default(),
            (Chattr::AtOnce, _) => flags_and_project(source),
            (Chattr::FlagsAndProject, Projects::Possible) => {
                inode_flags(source).and_then(|flags| Ok((flags, project(source)?)))
            }
            (Chattr::Flags | Chattr::FlagsAndProject, _) => {
                inode_flags(source).map(|flags| (flags, 0))
            }
        };
        match told {
            Ok((flags, project)) => {
                return Flags { flags: flags.common(kept(policy.preserve.flags)), project };
            }
            Err(error) if has_none(error.errno) => {}
            Err(error) => lost.extend(Lost::by(policy.preserve.flags, What::Flags, error.errno)),
        }
        Flags::default()
    }

    /// Returns whether files in a directory with these flags may have a project. A file gets the one of its
    /// directory when it is made.
    pub(crate) const fn projects_below(self) -> Projects {
        if self.project == 0 { Projects::None } else { Projects::Possible }
    }

    /// Returns whether the source cannot be removed, renamed or linked.
    pub(crate) const fn pins(self) -> bool {
        !self.flags.common(PINNING).is_empty()
    }

    /// Gives an empty file what it has to have before its bytes.
    pub(crate) fn apply_before_bytes(
        self,
        target: BorrowedFd<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        self.join_project(target, policy, lost);
        add(target, self.flags.common(BEFORE_BYTES), policy, lost);
    }

    /// Gives a file what does not matter to its bytes and its names, and a directory, whose entries are
    /// complete, everything.
    pub(super) fn apply(
        self,
        target: BorrowedFd<'_>,
        kind: Kind,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        if kind == Kind::Directory {
            self.join_project(target, policy, lost);
            add(target, self.flags, policy, lost);
        } else {
            add(target, self.flags.without(BEFORE_BYTES).without(PINNING), policy, lost);
        }
    }

    /// Gives a file that has its names what prevents every further change.
    pub(crate) fn pin(self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        let mut lost = Vec::new();
        add(target, self.flags.common(PINNING), policy, &mut lost);
        lost
    }

    /// Sets the project of a target that has inherited none: a file cannot be linked or renamed into a
    /// directory with another project that its entries inherit.
    fn join_project(self, target: BorrowedFd<'_>, policy: &Policy, lost: &mut Vec<Lost>) {
        if self.project == 0 {
            return;
        }
        let joined = match project(target) {
            Ok(0) => set_project(target, self.project),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = joined {
            lost.extend(Lost::by(policy.preserve.flags, What::Flags, error.errno));
        }
    }
}

/// Returns whether a copy has all flags and the project of its source. What cannot be told is none.
pub(crate) fn has_flags_of(source: BorrowedFd<'_>, copy: BorrowedFd<'_>) -> bool {
    let flags = |fd| inode_flags(fd).map_or(InodeFlags::NONE, |flags| flags.common(KEPT));
    let number = |fd| project(fd).unwrap_or(0);
    flags(source).without(flags(copy)).is_empty() && (number(source) == 0 || number(copy) != 0)
}

/// Returns whether a refusal to tell flags means that a source has none.
fn has_none(errno: Errno) -> bool {
    matches!(errno, Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)
}

/// Adds flags to those that a target has. Where it cannot have all of them, it gets those that it can have.
fn add(target: BorrowedFd<'_>, wanted: InodeFlags, policy: &Policy, lost: &mut Vec<Lost>) {
    if wanted.is_empty() {
        return;
    }
    if let Err(errno) = try_add(target, wanted) {
        lost.extend(Lost::by(policy.preserve.flags, What::Flags, errno));
    }
}

fn try_add(target: BorrowedFd<'_>, wanted: InodeFlags) -> Result<(), Errno> {
    let read = || inode_flags(target).map_err(|error| error.errno);
    let set = |flags: InodeFlags| {
        set_inode_flags(target, read()?.and(flags)).map_err(|error| error.errno)
    };
    let missing = wanted.without(read()?);
    if missing.is_empty() {
        return Ok(());
    }
    let mut refused = set(missing).err();
    if refused.is_some() {
        for flag in missing.each() {
            refused = set(flag).err().or(refused);
        }
    }
    // A file system may ignore a flag: btrfs does so with `C` of a file that has bytes.
    let is_complete = wanted.without(read()?).is_empty();
    if is_complete { Ok(()) } else { Err(refused.unwrap_or(Errno::OPNOTSUPP)) }
}
