//! Failures, as data: what was being done, to which paths, and what the kernel said.
//!
//! The command has its own words for them; those of [`Display`](std::fmt::Display) are for other programs.

mod display;

use haul_sys::Errno;

pub use crate::journal::{Aspect, Differences};

/// What was being done when something failed, or why it was not done.
///
/// The comment at each says which paths it speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Looking at the source.
    Stat,
    /// Looking at the target.
    StatTarget,
    /// A directory without `-r`; the source.
    OmittedDirectory,
    /// Opening the source for reading.
    OpenSource,
    /// Reading a directory; the source.
    ReadDirectory,
    /// The source was replaced between being found and being opened.
    Replaced,
    /// Making a regular file; the target.
    CreateFile,
    /// The target is a link that leads nowhere.
    DanglingTarget,
    /// Reading the source's bytes.
    Read,
    /// Writing the target's bytes.
    Write,
    /// Letting the kernel copy; both.
    CopyBytes,
    /// Sharing blocks; both.
    Clone,
    /// Setting the target's size.
    Extend,
    /// The source changed while it was copied.
    Changed,
    /// The source was rewritten while it was copied, and was copied again from its beginning; the source.
    CopiedAgain,
    /// The source's mode, owner or number of names changed while it was copied, and its bytes did not;
    /// the source.
    AttributesChanged,
    /// The source's ctime changed while it was copied, and nothing shows why. The copy is kept; the source.
    MayHaveChanged,
    /// Giving the target's descriptor back.
    Close,
    /// Waiting until the target is on stable storage.
    Sync,
    /// Waiting until the target's names are.
    SyncNames,
    /// The method that was asked for cannot serve, for this reason; both.
    MethodUnfit(&'static str, &'static str),
    /// The kernel refused the method that was asked for; both.
    MethodRefused(&'static str),
    /// The source takes no direct I/O.
    SourceNotDirect,
    /// The target takes no direct I/O.
    TargetNotDirect,
    /// Both are the same file.
    SameFile,
    /// The target is a directory and the source is not.
    OverDirectory,
    /// The source is a directory and the target is not; both.
    OverNonDirectory,
    /// The target was made by this run from another operand; both.
    JustCreated,
    /// The target is a link that this run made from another operand; both.
    ThroughJustCreated,
    /// The target exists and is to stay.
    NotReplacing,
    /// Removing the target.
    Remove,
    /// Making a directory; the target.
    CreateDirectory,
    /// Opening a directory of the target.
    OpenDirectory,
    /// Making a symbolic link; the target.
    CreateSymlink,
    /// Making a symbolic link to the source; both.
    LinkToSource,
    /// Making a hard link; the target and its other name.
    CreateHardLink,
    /// Making a FIFO; the target.
    CreateFifo,
    /// Making a device or socket; the target.
    CreateSpecial,
    /// Reading a symbolic link; the source.
    ReadLink,
    /// The target lies within the source; both.
    IntoItself,
    /// A directory that contains itself by a link; the source.
    Cycle,
    /// A kind of file that this kernel reports and we do not know; the source.
    UnknownKind,
    /// Keeping the owner; the target.
    Ownership,
    /// Keeping permission bits or the access-control list; the target.
    Permissions,
    /// Keeping times; the target.
    Times,
    /// Keeping an extended attribute; the target.
    Xattr,
    /// The target directory (`-t`) is none.
    TargetDirectory,
    /// The last operand is to be a directory and is none.
    TargetOperand,
    /// With `--parents` the target has to be a directory.
    ParentsNeedDirectory,
    /// A file that was given twice; the source.
    GivenTwice,
    /// A directory that was given twice; the source.
    DirectoryGivenTwice,
    /// A relative symbolic link can only be made in the current directory; the target.
    RelativeLink,
    /// Giving the target its backup's name.
    Backup,
    /// The backup's name is the source's; both.
    BackupDestroysSource,
    /// Giving a backup its old name again; the target.
    RestoreBackup,
    /// A leading directory of an operand is no directory; the source.
    NotADirectory,
    /// Reading the target again.
    ReadBack,
    /// The target, read again, is not what was read of the source: how many bytes are in the
    /// pieces that differ, and where the first begins; both.
    Differs {
        /// Bytes.
        bytes: u64,
        /// The first one's place.
        offset: u64,
    },
    /// It was not, and was copied again so often until it was; both.
    Repaired(u32),
    /// There is no storage to read the target from, or no way past the cache.
    ProvedFromCache,
    /// A target that cannot be read again.
    NotProved,
    /// The file that was replaced belonged to somebody else, and the new one does not; the target.
    NewOwner,
    /// Memory, threads or descriptors ran out.
    Resources,
    /// Opening or making the journal; its path is the target.
    JournalOpen,
    /// There is a journal that this run must not use; its path is the target.
    JournalRefused(JournalFlaw),
    /// Writing the journal; its path is the target.
    JournalWrite,
    /// The journal is left for a run that goes on; its path is the target.
    JournalKept,
    /// Removing the journal; its path is the target.
    JournalRemove,
}

/// Why a journal must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JournalFlaw {
    /// It is a link, a directory or a device.
    NotAFile,
    /// It belongs to somebody else, or has further names.
    NotOurs,
    /// Others may write to it.
    OthersMayWrite,
    /// It is something else.
    NotAJournal,
    /// It was written by another version.
    OtherVersion,
    /// It belongs to a run with other operands.
    AnotherRun,
    /// It belongs to a run with the same operands and other options.
    OtherOptions(Differences),
    /// A run is at work with it.
    InUse,
}

/// Whether something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The run fails.
    Failure,
    /// It is told, and that is all.
    Warning,
}

/// One thing that went wrong. Made only then, so it may own its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was being done.
    pub what: What,
    /// The source's path for people, as they would type it.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
    /// What the kernel said, if it was asked.
    pub errno: Option<Errno>,
    /// Whether the run fails by it.
    pub severity: Severity,
}
