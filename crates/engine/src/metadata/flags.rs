//! Flags and project of files and directories, as chattr(1) sets them.
//!
//! A target gets the flags of its source and keeps those that its directory passed on to it: a directory that
//! was prepared with `chattr +C` has its effect on the copies in it. Flags that say how bytes are stored count
//! only for bytes that are written later, so a file gets them while it is empty. What is immutable or append-only
//! cannot be linked, renamed or described otherwise, and gets no entries, so these two flags come at the end of a
//! run.

use std::os::fd::{AsFd, BorrowedFd};

use haul_io::flags::{self, BEFORE_BYTES, KEPT, Origin, PINNING, has_none};
use haul_io::quirk::{Chattr, Quirk};
use haul_io::stream::AtomicFile;
use haul_sys::fs::{InodeFlags, Kind, duplicate, flags_and_project, fstat, inode_flags, project};
use haul_sys::sync::Mutex;

use super::Lost;
use crate::data::error::What;
use crate::data::request::{Keep, Policy};
use crate::names::by_identity::{Identity, identity};

/// Flags and project of a file: those that a target is to get, or those that a file has.
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

/// Returns the flags that a copy keeps. An immutable copy could be neither replaced by the next run of the same
/// `cp -a` nor removed, so only a move, and who asks for flags by name, get one.
const fn kept(keep: Keep) -> InodeFlags {
    match keep {
        Keep::No | Keep::Try => KEPT.without(PINNING),
        Keep::Warn | Keep::Must => KEPT,
    }
}

impl Flags {
    /// Returns whether copies can become immutable or append-only.
    pub(crate) fn may_pin(policy: &Policy) -> bool {
        !kept(policy.preserve.flags).common(PINNING).is_empty() && policy.preserve.flags.wanted()
    }

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
        origin: Origin<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        self.join(target, origin, policy, lost);
        add(target, self.flags.common(BEFORE_BYTES), policy, lost);
    }

    /// Gives a file what does not matter to its bytes and its names, and a directory everything that does not
    /// matter to its entries.
    pub(super) fn apply(
        self,
        target: BorrowedFd<'_>,
        kind: Kind,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        if kind == Kind::Directory {
            self.join(target, Origin::Made, policy, lost);
            add(target, self.flags.without(PINNING), policy, lost);
        } else {
            add(target, self.flags.without(BEFORE_BYTES).without(PINNING), policy, lost);
        }
    }

    fn join(
        self,
        target: BorrowedFd<'_>,
        origin: Origin<'_>,
        policy: &Policy,
        lost: &mut Vec<Lost>,
    ) {
        if let Err(errno) = flags::join_project(target, self.project, origin) {
            lost.extend(Lost::by(policy.preserve.flags, What::Flags, errno));
        }
    }

    /// Returns the flags and the project of a file, as far as they can be told.
    fn told(file: BorrowedFd<'_>) -> Flags {
        let flags = inode_flags(file).map_or(InodeFlags::NONE, |flags| flags.common(KEPT));
        Flags { flags, project: project(file).unwrap_or(0) }
    }

    /// Returns whether a copy with these flags needs none of those of another file.
    fn covers(self, other: Flags) -> bool {
        other.flags.without(self.flags).is_empty()
            && (other.project == 0 || self.project == other.project)
    }

    /// Gives a file that has its names, or a directory that has its entries, what prevents every further change.
    pub(crate) fn pin(self, target: BorrowedFd<'_>, policy: &Policy) -> Vec<Lost> {
        let mut lost = Vec::new();
        add(target, self.flags.common(PINNING), policy, &mut lost);
        lost
    }
}

/// Returns whether an open file or directory is immutable or append-only.
pub(super) fn is_pinned(file: BorrowedFd<'_>) -> bool {
    inode_flags(file).is_ok_and(|flags| !flags.common(PINNING).is_empty())
}

/// Flags of a source, and those of them that an empty file got in a directory.
#[derive(Clone, Copy, Debug)]
struct Trial {
    wanted: Flags,
    directory: Identity,
    possible: Flags,
}

/// Tells whether copies have the flags that they can have. A copy on a file system that does not have a flag of
/// its source is as good as every other copy there.
#[derive(Debug, Default)]
pub(crate) struct PossibleFlags {
    /// What was found last.
    last: Mutex<Option<Trial>>,
}

impl PossibleFlags {
    /// Returns whether a copy in a directory has the flags and the project of its source that a new file there
    /// would get. What cannot be told is none. Makes a file without a name in the directory if flags are missing.
    pub(crate) fn has_those_of(
        &self,
        source: BorrowedFd<'_>,
        copy: BorrowedFd<'_>,
        directory: BorrowedFd<'_>,
    ) -> bool {
        let (wanted, has) = (Flags::told(source), Flags::told(copy));
        has.covers(wanted) || self.of(wanted, directory).is_ok_and(|possible| has.covers(possible))
    }

    /// Returns what a new file in a directory gets of these flags.
    fn of(&self, wanted: Flags, directory: BorrowedFd<'_>) -> haul_sys::Result<Flags> {
        let place = identity(&fstat(directory)?);
        let mut last = self.last.lock();
        if let Some(trial) = *last
            && (trial.wanted, trial.directory) == (wanted, place)
        {
            return Ok(trial.possible);
        }
        let trial = AtomicFile::begin_closed(duplicate(directory)?, c"".to_owned())?;
        let file = trial.file().as_fd();
        // The file was made to find out what it cannot have.
        let _no_project = flags::join_project(file, wanted.project, Origin::Other(directory, c"."));
        for some in [wanted.flags.common(BEFORE_BYTES), wanted.flags.without(BEFORE_BYTES)] {
            let _refused = flags::add(file, some.without(PINNING));
        }
        let got = Flags::told(file);
        let possible = Flags {
            flags: got.flags.common(wanted.flags),
            project: if wanted.project == 0 { 0 } else { got.project },
        };
        *last = Some(Trial { wanted, directory: place, possible });
        Ok(possible)
    }
}

/// Adds flags to those that a target has. Where it cannot have all of them, it gets those that it can have.
fn add(target: BorrowedFd<'_>, wanted: InodeFlags, policy: &Policy, lost: &mut Vec<Lost>) {
    if let Err(errno) = flags::add(target, wanted) {
        lost.extend(Lost::by(policy.preserve.flags, What::Flags, errno));
    }
}
