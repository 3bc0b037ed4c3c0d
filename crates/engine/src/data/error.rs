//! Failures as data: the action, the paths, and the errno.
//!
//! The command formats its own messages; those of [`Display`](std::fmt::Display) are for other
//! programs. They end with what the kernel answered, so [`source`](std::error::Error::source) returns
//! nothing that a message lacks: it is `None`.

mod codes;
mod display;

pub use haul_sys::Errno;

pub use crate::data::aspect::{Aspect, Differences};

/// Operation that a failure belongs to. A move copies and removes, so it reports failures of all
/// three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A copy.
    Copy,
    /// A move of an operand as a whole.
    Move,
    /// A removal. Its failures have one path, which is the source.
    Remove,
}

/// Action that failed, or reason why an entry was not copied, moved or removed.
///
/// The comment at each variant says which paths a failure of a copy contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Examining the source.
    Stat,
    /// Examining the target.
    StatTarget,
    /// A directory without `-r`; the source.
    OmittedDirectory,
    /// Opening the source for reading.
    OpenSource,
    /// Reading a directory; the source.
    ReadDirectory,
    /// Reading the merge file of a directory; without an errno, a rule in it is not valid. The directory.
    Rules,
    /// The source was replaced between its lookup and its open.
    Replaced,
    /// Creating a regular file; the target.
    CreateFile,
    /// The target is a dangling symbolic link.
    DanglingTarget,
    /// Reading the source's bytes.
    Read,
    /// Writing the target's bytes.
    Write,
    /// Copying within the kernel; both.
    CopyBytes,
    /// Sharing blocks; both.
    Clone,
    /// Setting the target's size.
    Extend,
    /// The source changed during the copy, or after it; or the entry is not the one that was to be
    /// removed. A removal keeps it.
    Changed,
    /// The entry is not the one that was to be removed, and another file has its name by now; the entry, and
    /// the path that it has.
    KeptBeside,
    /// The run was stopped while it wrote to a file that had existed before: the file has only the beginning of
    /// its new bytes. The target.
    CutShort,
    /// The source was rewritten during the copy, and was copied again from its beginning; the
    /// source.
    CopiedAgain,
    /// The source's mode, owner or number of names changed during the copy, and its bytes did not;
    /// the source.
    AttributesChanged,
    /// The source's ctime changed during the copy for an unknown reason. The copy is kept; the
    /// source.
    MayHaveChanged,
    /// Closing the target's descriptor.
    Close,
    /// Waiting until the target is on stable storage.
    Sync,
    /// Waiting until the target's names are on stable storage.
    SyncNames,
    /// The requested method cannot be used, for this reason; both.
    MethodUnfit(&'static str, &'static str),
    /// The kernel refused the requested method; both.
    MethodRefused(&'static str),
    /// The source does not support direct I/O.
    SourceNotDirect,
    /// The target does not support direct I/O.
    TargetNotDirect,
    /// Source and target are the same file.
    SameFile,
    /// The target is a directory and the source is not.
    OverDirectory,
    /// The source is a directory and the target is not; both.
    OverNonDirectory,
    /// This run created the target from another operand; both.
    JustCreated,
    /// The target is a link to a file that this run wrote for another entry; both.
    SharesJustCreated,
    /// The target is a symbolic link that this run created from another operand; both.
    ThroughJustCreated,
    /// The target is a symbolic link to a file, to which another process of the run may write; the target.
    LinkAmongProcesses,
    /// The target exists and the policy keeps it.
    NotReplacing,
    /// Removing the target of a copy, or an entry.
    Remove,
    /// Creating a directory; the target.
    CreateDirectory,
    /// Opening a directory of the target.
    OpenDirectory,
    /// Creating a symbolic link; the target.
    CreateSymlink,
    /// Creating a symbolic link to the source; both.
    LinkToSource,
    /// Creating a hard link; the target and its other name.
    CreateHardLink,
    /// Creating a FIFO; the target.
    CreateFifo,
    /// Creating a device or socket; the target.
    CreateSpecial,
    /// Reading a symbolic link; the source.
    ReadLink,
    /// The target is inside the source directory; both.
    IntoItself,
    /// A directory that contains itself through a symbolic link; the source.
    Cycle,
    /// A kind of file that the kernel reports and haul does not know; the source.
    UnknownKind,
    /// A symbolic link, device, FIFO or socket that the policy skips; the source.
    SkippedKind,
    /// An entry that the source does not have stays in the target, because the source directory has no entry at all;
    /// both.
    SourceEmpty,
    /// A directory of the target stays, because the source is in it; the target.
    HoldsSource,
    /// Entries that the source does not have stay in a directory to which a symbolic link of the target leads; both.
    LinkedTarget,
    /// Two directories of the source lead to one of the target, so what the source does not have is not known; both.
    SharedTarget,
    /// A directory of `--link-dest`, `--copy-dest` or `--compare-dest` that is not there; the target.
    BasisMissing,
    /// Keeping the owner; the target.
    Ownership,
    /// Keeping permission bits or the access-control list; the target.
    Permissions,
    /// Keeping times; the target.
    Times,
    /// Keeping an extended attribute; the target.
    Xattr,
    /// Keeping the flags or the project; the target.
    Flags,
    /// The source of a move is immutable or append-only, so it cannot be removed.
    Pinned,
    /// The target did not become immutable or append-only, because the copy is not complete.
    NotPinned,
    /// Setting the striping of a file, or reading it; the target.
    Striping,
    /// A striping was requested, and the target is not on Lustre.
    NotStriped,
    /// The target directory (`-t`) is not a directory.
    TargetDirectory,
    /// The last operand must be a directory and is not one.
    TargetOperand,
    /// With `--parents` the target must be a directory.
    ParentsNeedDirectory,
    /// A file that was given twice; the source.
    GivenTwice,
    /// A directory that was given twice; the source.
    DirectoryGivenTwice,
    /// A relative symbolic link can be created only in the current directory; the target.
    RelativeLink,
    /// Renaming the target to its backup name.
    Backup,
    /// The backup name is the name of the source; both.
    BackupDestroysSource,
    /// Renaming a backup back to its old name; the target.
    RestoreBackup,
    /// A leading directory of an operand is not a directory; the source.
    NotADirectory,
    /// Reading the target again.
    ReadBack,
    /// The target, read again, differs from what was read of the source; both.
    Differs {
        /// Total bytes of the blocks that differ.
        bytes: u64,
        /// Offset of the first of these blocks.
        offset: u64,
    },
    /// The target differed, and was copied again this many times until it was equal; both.
    Repaired(u32),
    /// The target cannot be read from storage: it has none, or the cache cannot be bypassed.
    ProvedFromCache,
    /// The target cannot be read again.
    NotProved,
    /// The replaced file belonged to another user, and the new one does not; the target.
    NewOwner,
    /// Memory, threads or descriptors ran out.
    Resources,
    /// Opening or creating the journal; its path is the target.
    JournalOpen,
    /// The journal exists and this run must not use it; its path is the target.
    JournalRefused(JournalFlaw),
    /// Writing the journal; its path is the target.
    JournalWrite,
    /// The journal stays for a run that resumes this one; its path is the target.
    JournalKept,
    /// Removing the journal; its path is the target.
    JournalRemove,
    /// The operand of a removal ends in `.` or `..`.
    Dots,
    /// The operand of a removal is the root directory.
    Root,
    /// The entry is on another file system than the operand of a removal.
    OtherDevice,
    /// The operand of a removal is on another file system than its parent.
    MountPoint,
    /// The operand of a removal is a mount point, which the command keeps without being asked for that.
    MountKept,
    /// Examining the parent directory of an operand.
    StatParent,
    /// Exchanging source and target.
    Exchange,
    /// Renaming over an existing target.
    Overwrite,
    /// Renaming the source.
    Move,
    /// Replacing an existing target by a copy from another file system.
    RemoveTarget,
    /// The target changed after the policy or the user agreed to replace it; both.
    TargetChanged,
    /// Removing an unfinished copy; the target is the copy.
    UnfinishedCopy,
    /// Another run is active with the same source and target.
    InUse,
    /// Recording that a copy is complete; the target is the note.
    Note,
    /// The source of a move is not there, and a killed run has left it under the hidden name that is the target.
    SetAside,
    /// A signal ended the run while an operand was copied; the target is the unfinished copy.
    Interrupted,
}

/// Reason why a journal must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JournalFlaw {
    /// The path is a symbolic link, a directory or a device.
    NotAFile,
    /// The journal belongs to another user, or has further names.
    NotOurs,
    /// Other users may write to the journal.
    OthersMayWrite,
    /// The file is not a journal.
    NotAJournal,
    /// Another version wrote the journal.
    OtherVersion,
    /// The journal belongs to a run with other operands.
    AnotherRun,
    /// The journal belongs to a run with the same operands and other options.
    OtherOptions(Differences),
    /// Another run uses the journal.
    InUse,
    /// The journal has more volumes than the process can lock, or leaves too few descriptors.
    TooManyVolumes,
    /// The first process has opened the journal, and this one does not see it.
    NotSeen,
}

/// Severity of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The run fails.
    Failure,
    /// The failure is only reported.
    Warning,
}

/// A failure. Created only when it occurs, so it may own its paths. Its text has the paths, the action and
/// the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// Operation that failed.
    pub operation: Operation,
    /// Failed action.
    pub what: What,
    /// Path of the source for messages, as the user would type it.
    pub source: Vec<u8>,
    /// Path of the target for messages.
    pub target: Vec<u8>,
    /// Errno, if a call failed.
    pub errno: Option<Errno>,
    /// Whether the failure makes the run fail.
    pub severity: Severity,
}
