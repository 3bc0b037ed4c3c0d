//! Failures in words, for programs that use this crate. The `haul` command has words of its own, which
//! are those of the tools that it stands in for.

use std::error::Error;
use std::fmt;
use std::io;

use super::{Failure, JournalFlaw, What};
use haul_sys::{Errno, errno_text};

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Differs { bytes, offset } => {
                write!(f, "the target differs from the source in {bytes} bytes from {offset} on")
            }
            What::Repaired(rounds) => {
                write!(f, "the target differed, and was copied again {rounds} times")
            }
            What::MethodUnfit(method, why) => write!(f, "method {method} does not fit: {why}"),
            What::MethodRefused(method) => write!(f, "the kernel refuses method {method}"),
            What::JournalRefused(flaw) => write!(f, "the journal cannot be used: {flaw}"),
            what => f.write_str(what.words()),
        }
    }
}

impl What {
    /// Returns what there is to say of a failure that has no figures.
    #[expect(clippy::too_many_lines, reason = "a table, with a row for each kind of failure")]
    const fn words(self) -> &'static str {
        match self {
            What::Stat => "cannot look at the source",
            What::StatTarget => "cannot look at the target",
            What::OmittedDirectory => "the source is a directory, and directories are left out",
            What::OpenSource => "cannot open the source",
            What::ReadDirectory => "cannot read the directory",
            What::Rules => "cannot use the merge file in the directory",
            What::Replaced => "the source was replaced while it was copied",
            What::CreateFile => "cannot make the target file",
            What::DanglingTarget => "the target is a symbolic link that leads nowhere",
            What::Read => "cannot read the source",
            What::Write => "cannot write the target",
            What::CopyBytes => "cannot copy the bytes",
            What::Clone => "cannot share the source's blocks",
            What::Extend => "cannot set the target's size",
            What::Changed | What::KeptBeside => "the source changed meanwhile",
            What::CutShort => "the run was stopped while it wrote to the existing file",
            What::CopiedAgain => "the source changed, and was copied again",
            What::AttributesChanged => "the source's attributes changed while it was copied",
            What::MayHaveChanged => "the source may have changed while it was copied",
            What::Close => "cannot close the target",
            What::Sync => "cannot bring the target to stable storage",
            What::SyncNames => "cannot bring the target's names to stable storage",
            What::SourceNotDirect => "the source takes no direct I/O",
            What::TargetNotDirect => "the target takes no direct I/O",
            What::SameFile => "source and target are the same file",
            What::OverDirectory => "a directory is not replaced with a file",
            What::OverNonDirectory => "a file is not replaced with a directory",
            What::JustCreated => "another source was just put in the target's place",
            What::SharesJustCreated | What::ThroughJustCreated => {
                "the target leads to what was just copied there"
            }
            What::LinkAmongProcesses => "another process may write to what the target links to",
            What::NotReplacing | What::TargetChanged => "the target exists and is not replaced",
            What::Remove => "cannot remove it",
            What::CreateDirectory => "cannot make the target directory",
            What::OpenDirectory => "cannot open the target directory",
            What::CreateSymlink => "cannot make the symbolic link",
            What::LinkToSource => "cannot make a symbolic link to the source",
            What::CreateHardLink => "cannot make the hard link",
            What::CreateFifo | What::CreateSpecial => "cannot make the special file",
            What::ReadLink => "cannot read the symbolic link",
            What::IntoItself => "a directory is not put into itself",
            What::Cycle => "the directory contains itself by a symbolic link",
            What::UnknownKind => "the source is of an unknown kind",
            What::SkippedKind => "the source is not of a kind that is copied",
            What::SourceEmpty => "nothing is removed, because the source directory is empty",
            What::LinkedTarget => "nothing is removed behind a symbolic link",
            What::SharedTarget => "another directory of the source goes to the same target",
            What::BasisMissing => "a directory to compare with cannot be opened",
            What::HoldsSource => "a directory that contains the source is not removed",
            What::Ownership => "cannot preserve the owner",
            What::Permissions => "cannot preserve the permissions",
            What::Times => "cannot preserve the times",
            What::Xattr => "cannot preserve an extended attribute",
            What::Flags => "cannot preserve the flags or the project",
            What::Pinned => "the source is immutable or append-only",
            What::NotPinned => {
                "the target is not immutable or append-only yet, because the copy is not complete"
            }
            What::Striping | What::NotStriped => "cannot set the striping of the target",
            What::TargetDirectory | What::TargetOperand => "the target is not a directory",
            What::ParentsNeedDirectory => "leading directories need a target directory",
            What::GivenTwice | What::DirectoryGivenTwice => "the source was given more than once",
            What::RelativeLink => "a relative link is made only in the current directory",
            What::Backup => "cannot back up the target",
            What::BackupDestroysSource => "the backup would replace the source",
            What::RestoreBackup => "cannot give the backup its old name",
            What::NotADirectory => "a leading component of the source is not a directory",
            What::ReadBack | What::NotProved => "cannot read the target again",
            What::ProvedFromCache => "the target could be compared from the page cache only",
            What::NewOwner => "the target's owner is not that of the file it replaces",
            What::Resources => "memory, threads or descriptors ran out",
            What::JournalOpen => "cannot open the journal",
            What::JournalWrite => "cannot write the journal",
            What::JournalKept => "the journal is kept for a later run",
            What::JournalRemove => "cannot remove the journal",
            What::Differs { .. } | What::Repaired(_) => "the target differs from the source",
            What::MethodUnfit(..) | What::MethodRefused(_) => "the method cannot be used",
            What::JournalRefused(_) => "the journal cannot be used",
            What::Dots => "an operand that ends in '.' or '..' is not removed",
            What::Root => "the root directory is not removed",
            What::OtherDevice => "it is on another file system",
            What::MountPoint | What::MountKept => "it is a mount point",
            What::StatParent => "cannot look at its parent directory",
            What::Exchange => "the two cannot change places",
            What::Overwrite => "cannot replace the target",
            What::Move => "cannot rename the source",
            What::RemoveTarget => "cannot put the copy in the target's place",
            What::UnfinishedCopy => "cannot remove the unfinished copy",
            What::InUse => "another run moves the same source to the same target",
            What::Note => "cannot note that the copy is complete",
            What::SetAside => "a killed run has left the source under a hidden name",
            What::Interrupted => "a signal ended the move while the source was copied",
        }
    }
}

impl fmt::Display for JournalFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JournalFlaw::NotAFile => "it is not a regular file",
            JournalFlaw::NotOurs => "it has another owner or further names",
            JournalFlaw::OthersMayWrite => "other users may write to it",
            JournalFlaw::NotAJournal => "it is not a journal",
            JournalFlaw::OtherVersion => "another version of the program wrote it",
            JournalFlaw::AnotherRun => "it belongs to a run with other operands",
            JournalFlaw::OtherOptions(_) => "it belongs to a run with other options",
            JournalFlaw::InUse => "another run uses it",
            JournalFlaw::TooManyVolumes => "its volumes leave too few descriptors",
            JournalFlaw::NotSeen => "this machine does not see it",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, target) = (lossy(&self.source), lossy(&self.target));
        match (self.source.is_empty(), self.target.is_empty()) {
            (false, false) => write!(f, "{source} -> {target}: ")?,
            (false, true) => write!(f, "{source}: ")?,
            (true, false) => write!(f, "{target}: ")?,
            (true, true) => {}
        }
        write!(f, "{}", self.what)?;
        match self.errno {
            Some(errno) => write!(f, ": {}", errno_text(errno)),
            None => Ok(()),
        }
    }
}

impl Error for Failure {}

/// Keeps the errno's [kind](io::ErrorKind), if a call failed, and the whole text.
impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = failure.errno.map_or(io::ErrorKind::Other, Errno::kind);
        io::Error::new(kind, failure)
    }
}

fn lossy(path: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::error::{Operation, Severity};

    #[test]
    fn a_failure_says_what_to_which_paths_and_why() {
        let failure = Failure {
            operation: Operation::Copy,
            what: What::Differs { bytes: 3, offset: 4096 },
            source: b"a".to_vec(),
            target: b"b\xff".to_vec(),
            errno: Some(Errno::IO),
            severity: Severity::Failure,
        };
        let text = "a -> b\u{fffd}: the target differs from the source in 3 bytes from 4096 on: \
                    Input/output error";
        assert_eq!(failure.to_string(), text);
        assert!(failure.source().is_none(), "a chain of errors has the reason once");
        let silent =
            Failure { source: Vec::new(), errno: None, what: What::Sync, ..failure.clone() };
        assert_eq!(silent.to_string(), "b\u{fffd}: cannot bring the target to stable storage");
        let missing = Failure { errno: Some(Errno::NOENT), what: What::OpenSource, ..failure };
        let text = "a -> b\u{fffd}: cannot open the source: No such file or directory";
        let error = io::Error::from(missing);
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::NotFound, text.to_owned()));
        assert_eq!(io::Error::from(silent).kind(), io::ErrorKind::Other);
        let flaw = What::JournalRefused(JournalFlaw::InUse);
        assert_eq!(flaw.to_string(), "the journal cannot be used: another run uses it");
    }
}
