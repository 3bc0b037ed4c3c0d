//! Messages for failures of a move, for programs that use this crate.

use std::error::Error;
use std::fmt;

use super::monitor::{Failure, MoveFailure, What};

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Stat => "cannot look at the source",
            What::StatTarget => "cannot look at the target",
            What::TargetDirectory | What::TargetOperand => "the target is not a directory",
            What::SameFile => "source and target are the same file",
            What::OverDirectory => "a directory is not replaced with a file",
            What::OverNonDirectory => "a file is not replaced with a directory",
            What::JustCreated => "another source was just moved to the target",
            What::NotReplacing => "the target exists and is not replaced",
            What::Backup => "cannot back up the target",
            What::BackupDestroysSource => "the backup would replace the source",
            What::IntoItself => "a directory is not moved into itself",
            What::GivenTwice => "the directory was given more than once",
            What::Exchange => "the two cannot change places",
            What::Overwrite => "cannot replace the target",
            What::Move => "cannot rename the source",
            What::RemoveTarget => "cannot put the copy in the target's place",
            What::CreateFile => "cannot make the target file",
            What::Sync => "cannot bring the target to stable storage",
            What::Changed => "the source changed after it was copied, and is kept",
            What::Leftover => "cannot remove the unfinished copy",
            What::InUse => "another run moves the same source to the same target",
            What::Note => "cannot note that the copy is complete",
            What::Interrupted => "a signal ended the move while the source was copied",
        })
    }
}

impl fmt::Display for MoveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = String::from_utf8_lossy(&self.source);
        let target = String::from_utf8_lossy(&self.target);
        write!(f, "{source} -> {target}: {}", self.what)
    }
}

/// The source of the error is the errno, if a call failed.
impl Error for MoveFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.errno.as_ref().map(|errno| errno as &(dyn Error + 'static))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Move(failure) => failure.fmt(f),
            Failure::Copy(failure) => failure.fmt(f),
            Failure::Remove(failure) => failure.fmt(f),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Failure::Move(failure) => failure.source(),
            Failure::Copy(failure) => failure.source(),
            Failure::Remove(failure) => failure.source(),
        }
    }
}
