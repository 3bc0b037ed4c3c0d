//! What is known of an entry and of the name that it is to get, and what is decided about it.
//!
//! Facts are gathered by system calls, elsewhere; here they are plain data, so that every rule can be
//! tested with literals.

use haul_sys::fs::{Kind, Stat};

use crate::error::What;

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A person named it.
    Operand,
    /// It is a leading directory of an operand (`--parents`).
    Leading,
    /// It was found in a directory.
    Inside,
}

/// Whether this run has met the same file of the source before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has not, or that does not matter.
    No,
    /// Another operand of the same target name stands for it.
    AsOperand,
    /// Another name of it was copied, and names of one file stay so.
    AsLink,
}

/// How a directory of the source lies to those that the run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// It is none of them.
    Apart,
    /// It is one of the directories that it was reached through.
    OwnAncestor,
    /// It is the directory of the target that an operand is copied to.
    OperandTarget,
}

/// Whether the path of the source, as the text of a symbolic link, leads to the source (`-s`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkText {
    /// It does, or no such link is made.
    Leads,
    /// It does not: it is relative, and the link is made in another directory.
    Relative,
}

/// What is known of an entry of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// What is copied: the link itself or what it leads to, as the policy says.
    pub(crate) stat: &'a Stat,
    /// What the name itself is.
    pub(crate) link: &'a Stat,
    /// What the name leads to, if it is a symbolic link that leads anywhere. Needed only where the
    /// target's name is taken.
    pub(crate) followed: Option<Stat>,
    pub(crate) role: Role,
    /// The device of the operand that it lies below.
    pub(crate) root_dev: u64,
    pub(crate) seen: Seen,
    pub(crate) nesting: Nesting,
    pub(crate) link_text: LinkText,
}

impl<'a> Source<'a> {
    /// An entry of which only its descriptions are known.
    pub(crate) const fn new(
        (stat, link): (&'a Stat, &'a Stat),
        role: Role,
        root_dev: u64,
    ) -> Source<'a> {
        Source {
            stat,
            link,
            followed: None,
            role,
            root_dev,
            seen: Seen::No,
            nesting: Nesting::Apart,
            link_text: LinkText::Leads,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.stat.kind() == Kind::Directory
    }
}

/// Who made what has the target's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// It was there before the run, or is an entry that the run may overwrite.
    Older,
    /// This run gave the name to another operand.
    OperandName,
    /// The file has the bytes of another operand, which reached it by another name.
    OperandBytes,
    /// It is a name of the very file that the entry is to be another name of.
    SameLink,
    /// It is in a directory that this run has made, where nothing should be.
    OwnDirectory,
}

/// What is known of a name that is taken already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// What the name is.
    pub(crate) link: Stat,
    /// What it leads to, if it is a symbolic link that leads anywhere.
    pub(crate) followed: Option<Stat>,
    /// Whether it is a symbolic link that leads in a circle.
    pub(crate) is_loop: bool,
    /// The step in which its file system keeps times, in nanoseconds.
    pub(crate) step_ns: i128,
    /// Whether source and target are one and the same directory entry, by directory and name.
    pub(crate) same_name: bool,
    /// Whether the backup of what has the name would be written over the source.
    pub(crate) backup_is_source: bool,
    pub(crate) occupant: Occupant,
}

impl Taken {
    /// Returns what writing to the name would change: where a link leads, else the name itself.
    #[must_use]
    pub(crate) fn reached(&self) -> Option<Stat> {
        if self.link.kind() == Kind::Symlink { self.followed } else { Some(self.link) }
    }
}

/// What is known of the name that an entry is to get.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TargetName<'a> {
    /// Nothing: it has not been looked at.
    Unseen,
    /// Nothing has it.
    Free,
    /// Something has it.
    Taken(&'a Taken),
}

/// All that a decision about an entry depends on, apart from the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) target: TargetName<'a>,
}

/// Why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Something is there, and nothing is to be replaced.
    Exists,
    /// What is there is not older.
    NotOlder,
    /// Both are one file already.
    SameFile,
    /// It is on another file system.
    OtherDevice,
    /// The same was given before.
    GivenTwice,
}

/// What happens to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is wanted; what happens depends on its name in the target, which is to be looked at.
    Look,
    /// Nothing has its name: it is made.
    Create,
    /// The directory's entries go into the one that is there.
    Merge,
    /// The file that is there gets new contents, through a link if it is one.
    Overwrite,
    /// What is there is removed, and the entry made anew.
    Replace,
    /// What is there gets another name, and the entry is made anew.
    BackUp,
    /// The call that makes the name is made, and fails where the name is still taken.
    Collide,
    /// What is there stays.
    Skip(Reason),
    /// What is there stays, and that is a failure.
    Refuse(What),
}

/// What happens to an entry, and whether a person has to agree first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What happens.
    pub(crate) action: Action,
    /// Whether a person is asked first.
    pub(crate) ask: bool,
}

impl Decision {
    /// A decision for which no person is asked.
    pub(crate) const fn plain(action: Action) -> Decision {
        Decision { action, ask: false }
    }
}
