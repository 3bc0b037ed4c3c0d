//! Facts about an entry and about its target name, and the decision that follows from them.
//!
//! Other modules gather the facts by system calls. In this module the facts are plain data, so that
//! a test can exercise every rule with literals.

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use crate::data::error::What;
use crate::data::synchronize::Compared;

/// Origin of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The user named the entry on the command line.
    Operand,
    /// The entry is a leading directory of an operand (`--parents`).
    Leading,
    /// The walk found the entry in a directory.
    Inside,
}

/// Whether this run has met the same source file before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The run has not met the file, or the policy does not distinguish the case.
    No,
    /// Another operand with the same target name refers to the file.
    AsOperand,
    /// The run copied another name of the file, and the policy preserves hard links.
    AsLink,
}

/// Relation of a source directory to the directories that the run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// The directory is none of them.
    Apart,
    /// The directory is one of the directories through which the walk reached it.
    OwnAncestor,
    /// The directory is the target directory that the run copies an operand to.
    OperandTarget,
}

/// Whether the path of the source, as the text of a symbolic link, leads to the source (`-s`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkText {
    /// The path leads to the source, or the run makes no such link.
    Leads,
    /// The path does not lead there: the path is relative, and the run makes the link in another
    /// directory.
    Relative,
}

/// Facts about a source entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// Description of what the run copies: the link itself or its referent, depending on the
    /// policy.
    pub(crate) stat: &'a Stat,
    /// Description of the name itself, without following a symbolic link.
    pub(crate) link: &'a Stat,
    /// Description of the referent, if the name is a symbolic link that is not dangling. Needed
    /// only where the target name is taken.
    pub(crate) followed: Option<Stat>,
    pub(crate) role: Role,
    pub(crate) seen: Seen,
    pub(crate) nesting: Nesting,
    pub(crate) link_text: LinkText,
}

impl<'a> Source<'a> {
    /// Returns the facts of an entry of which the caller knows only the descriptions.
    pub(crate) const fn new(stat: &'a Stat, link: &'a Stat, role: Role) -> Source<'a> {
        Source {
            stat,
            link,
            followed: None,
            role,
            seen: Seen::No,
            nesting: Nesting::Apart,
            link_text: LinkText::Leads,
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.stat.kind() == Kind::Directory
    }
}

/// Origin of the file that has the target name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occupant {
    /// The file existed before the run, or is an entry that the run may overwrite; or it is a directory that another
    /// process made meanwhile.
    Older,
    /// This run gave the name to another operand, or to another entry, which spells it in another way or has
    /// come to it by a link.
    NameOfAnother,
    /// The file has the bytes of another entry, which the run wrote through another name.
    BytesOfAnother,
    /// The name already belongs to the file that the entry is to become another name of.
    SameLink,
    /// The name is in a directory that this run made, where no other file is expected; or it is a directory
    /// that this run gave to another entry, which spells the name in another way.
    OwnDirectory,
}

/// Facts about a target name that is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Description of the name itself, without following a symbolic link.
    pub(crate) link: Stat,
    /// Description of the referent, if the name is a symbolic link that is not dangling.
    pub(crate) followed: Option<Stat>,
    /// Error of following the name, if it is a symbolic link that leads neither to a file nor to a free name,
    /// such as one that leads in a circle.
    pub(crate) unreachable: Option<Errno>,
    /// Timestamp granularity of the target's file system, in nanoseconds.
    pub(crate) step_ns: i128,
    /// Whether source and target are one directory entry: the same name in the same directory.
    pub(crate) same_name: bool,
    /// Whether the file, which is not older than the source, has only some of the source's bytes: a run that
    /// was killed has left it.
    pub(crate) is_cut_short: bool,
    /// Comparison with the source, if the run synchronises and both are of one kind.
    pub(crate) compared: Option<Compared>,
    /// Whether another directory has a file that is the same as the source in everything, and takes the place of this
    /// one.
    pub(crate) is_in_basis: bool,
    /// Whether the backup of the existing file would overwrite the source.
    pub(crate) backup_is_source: bool,
    /// Whether the backup of the existing file would replace what the run has made for another entry.
    pub(crate) backup_is_made: bool,
    pub(crate) occupant: Occupant,
}

impl Taken {
    /// Returns the errno that the kernel has for a refusal, if it has one.
    #[must_use]
    pub(crate) fn errno_of(&self, refusal: What) -> Option<Errno> {
        self.unreachable.filter(|_| refusal == What::StatTarget)
    }

    /// Returns the file that a write to the name would change: the referent of a link, else the
    /// file itself.
    #[must_use]
    pub(crate) fn reached(&self) -> Option<Stat> {
        if self.link.kind() == Kind::Symlink { self.followed } else { Some(self.link) }
    }
}

/// Facts about the target name of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TargetName<'a> {
    /// The run has not looked at the name.
    Unseen,
    /// The name is free.
    Free,
    /// The name is taken.
    Taken(&'a Taken),
}

/// Everything that a decision about an entry depends on, apart from the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) target: TargetName<'a>,
}

/// Reason for which the run skips an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The target exists, and the policy replaces no file.
    Exists,
    /// The target is not older than the source.
    NotOlder,
    /// Source and target are the same file already.
    SameFile,
    /// An earlier operand named the same file.
    GivenTwice,
    /// The entry is not selected.
    Excluded,
    /// The target is the same already.
    Same,
    /// The target is newer, and stays in a synchronisation. It does not stand for the copy.
    Newer,
    /// The target does not have the entry, and the policy makes none.
    Missing,
    /// The policy does not copy entries of this kind.
    Kind,
}

impl Reason {
    /// Returns whether the existing file stands for the copy, so that the other names of the source
    /// become names of that file: with `-u`, as in GNU cp. A file that the policy protects has
    /// nothing to do with the source.
    pub(crate) const fn keeps_the_copy(self) -> bool {
        matches!(self, Reason::NotOlder | Reason::Same)
    }
}

/// Action that the run takes for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Look at the target name: the run copies the entry, but the action depends on that name.
    Look,
    /// Make the entry: the target name is free.
    Create,
    /// Copy the entries of the directory into the existing directory.
    Merge,
    /// Write new contents to the existing file, through a link if the name is one.
    Overwrite,
    /// Remove the existing file, and make the entry.
    Replace,
    /// Rename the existing file to its backup name, and make the entry.
    BackUp,
    /// Set attributes of the existing entry, and keep its content.
    Adjust,
    /// Remove the existing directory, with its entries if the policy says so, and make the entry.
    Clear,
    /// Call the system call that makes the name, which fails where the name is still taken.
    Collide,
    /// Keep the existing file.
    Skip(Reason),
    /// Keep the existing file, and report a failure.
    Refuse(What),
    /// Keep the existing file, because its backup would replace what the run has just made; a failure.
    RefuseBackup,
}

/// Action for an entry, and whether the user has to agree first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Action that the run takes.
    pub(crate) action: Action,
    /// Whether the run asks the user first.
    pub(crate) ask: bool,
}

impl Decision {
    /// Returns a decision for which the run does not ask the user.
    pub(crate) const fn plain(action: Action) -> Decision {
        Decision { action, ask: false }
    }
}
