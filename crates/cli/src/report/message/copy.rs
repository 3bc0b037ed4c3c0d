//! Messages for failures of a copy, in GNU cp's words.

use haul_engine::error::{Failure, What};
use haul_sys::Errno;
use haul_sys::fs::LEASE_WAIT;

use super::journal::of_flaw;
use crate::escape::{quote, quote_if_needed};

/// Returns the message for a failure of a copy.
pub(super) fn of_copy(failure: &Failure) -> String {
    let action = action(failure.what, (&failure.source, &failure.target));
    match failure.errno {
        Some(errno) => format!("{action}: {}", cause(&failure.what, errno)),
        None => action,
    }
}

/// Returns the message for what was being done with a source and a target, without the cause.
pub(super) fn action(what: What, paths: (&[u8], &[u8])) -> String {
    let (source, target) = (quote(paths.0), quote(paths.1));
    match what {
        What::Stat => format!("cannot stat {source}"),
        What::StatTarget => format!("cannot stat {target}"),
        What::OmittedDirectory => format!("-r not specified; omitting directory {source}"),
        What::OpenSource => format!("cannot open {source} for reading"),
        What::ReadDirectory => format!("cannot access {source}"),
        What::Rules => format!("cannot use the merge file in {source}"),
        What::Replaced => {
            format!("skipping file {source}, as it was replaced while being copied")
        }
        What::CreateFile => format!("cannot create regular file {target}"),
        What::DanglingTarget => format!("not writing through dangling symlink {target}"),
        What::Read => format!("error reading {source}"),
        What::Write => format!("error writing {target}"),
        What::CopyBytes => format!("error copying {source} to {target}"),
        What::Clone => format!("failed to clone {target} from {source}"),
        What::Extend => format!("failed to extend {target}"),
        What::Changed => format!("{source} changed while it was copied"),
        What::Close => format!("failed to close {target}"),
        What::SameFile => format!("{source} and {target} are the same file"),
        What::OverDirectory => {
            format!("cannot overwrite directory {target} with non-directory {source}")
        }
        What::OverNonDirectory => {
            format!("cannot overwrite non-directory {target} with directory {source}")
        }
        What::JustCreated => format!("will not overwrite just-created {target} with {source}"),
        What::SharesJustCreated => format!(
            "will not overwrite just-created {target} with {source}: another source was copied to this file \
             by another of its names; --remove-destination makes a file of its own"
        ),
        What::ThroughJustCreated => {
            format!("will not copy {source} through just-created symlink {target}")
        }
        What::LinkAmongProcesses => format!(
            "not writing through {target}: it is a symbolic link to a file that another process may write \
             to; --remove-destination replaces the link"
        ),
        What::NotReplacing => format!("not replacing {target}"),
        What::Remove => format!("cannot remove {target}"),
        What::CreateDirectory => format!("cannot create directory {target}"),
        What::OpenDirectory => format!("cannot access {target}"),
        What::CreateSymlink => format!("cannot create symbolic link {target}"),
        What::LinkToSource => format!("cannot create symbolic link {target} to {source}"),
        What::CreateHardLink => format!("cannot create hard link {target} to {source}"),
        What::CreateFifo => format!("cannot create fifo {target}"),
        What::CreateSpecial => format!("cannot create special file {target}"),
        What::ReadLink => format!("cannot read symbolic link {source}"),
        What::IntoItself => {
            format!("cannot copy a directory, {source}, into itself, {target}")
        }
        What::Cycle => format!("cannot copy cyclic symbolic link {source}"),
        What::UnknownKind => format!("{source} has unknown file type"),
        What::Ownership => format!("failed to preserve ownership for {target}"),
        What::Permissions => format!("preserving permissions for {target}"),
        What::Times => format!("preserving times for {target}"),
        What::Xattr => format!("setting attributes for {target}"),
        What::TargetDirectory => format!("target directory {target}"),
        What::TargetOperand => format!("target {target}"),
        What::ParentsNeedDirectory => {
            "with --parents, the destination must be a directory".to_owned()
        }
        What::DirectoryGivenTwice => {
            format!("warning: source directory {source} specified more than once")
        }
        What::Backup => format!("cannot backup {target}"),
        What::BackupDestroysSource => {
            format!("backing up {target} might destroy source;  {source} not copied")
        }
        What::RestoreBackup => format!("cannot un-backup {target}"),
        What::NotADirectory => format!("{source} exists but is not a directory"),
        What::Resources => format!("cannot copy {source} to {target}"),
        What::GivenTwice => format!("warning: source file {source} specified more than once"),
        What::RelativeLink => {
            let target = quote_if_needed(paths.1);
            format!("{target}: can make relative symbolic links only in current directory")
        }
        other => of_data(other, &source, &target),
    }
}

/// Returns what an errno means for an action; most mean the same for all.
fn cause(what: &What, errno: Errno) -> String {
    if errno == Errno::AGAIN && matches!(what, What::OpenSource | What::CreateFile) {
        let seconds = LEASE_WAIT.as_secs();
        return format!("another process holds a lease on it, for more than {seconds} seconds");
    }
    haul_sys::errno_text(errno)
}

/// Returns the message for what GNU cp does not do: verify, resume, choose a method.
fn of_data(what: What, source: &str, target: &str) -> String {
    match what {
        What::KeptBeside => {
            format!(
                "{source} was replaced while an incomplete copy was removed, and is {target} now"
            )
        }
        What::CopiedAgain => {
            format!("warning: {source} changed while it was copied; it was copied again")
        }
        What::AttributesChanged => {
            format!("warning: attributes of {source} changed while it was copied")
        }
        What::MayHaveChanged => {
            format!("{source} may have changed while it was copied; the copy was kept")
        }
        What::CutShort => {
            format!("{target} was being overwritten and is not complete")
        }
        What::Flags => format!("setting flags of {target}"),
        What::Pinned => format!(
            "cannot move {source}: it is immutable or append-only; see lsattr(1) and chattr(1)"
        ),
        What::NotPinned => format!(
            "{target} did not become immutable or append-only, because the copy is not complete"
        ),
        What::Striping => format!("setting the striping of {target}"),
        What::NotStriped => format!(
            "cannot copy to {target} with --striping: it is not on Lustre; leave the option out"
        ),
        What::Sync => format!("error syncing {target}"),
        What::SyncNames => format!("error syncing the directories in {target}"),
        What::ReadBack => format!("error reading {target} again"),
        What::Differs { bytes, offset } => format!(
            "{target} differs from what was read of {source}: {bytes} bytes from byte {offset} on"
        ),
        What::Repaired(rounds) => format!(
            "warning: {target} differed from what was read of {source}, and was repaired \
             (attempt {rounds})"
        ),
        What::ProvedFromCache => format!(
            "warning: {target} and what else is on its file system could only be compared in \
             the page cache"
        ),
        What::NotProved => format!("warning: {target} is no file, and was not verified"),
        What::JournalOpen => format!("cannot open journal {target}"),
        What::JournalRefused(flaw) => {
            format!("refusing journal {target}: {}", of_flaw(flaw))
        }
        What::JournalWrite => format!(
            "warning: cannot write journal {target}: what is copied from here on would be copied \
             again with --resume"
        ),
        What::JournalKept => {
            format!("the journal {target} is kept: run the same command again to resume")
        }
        What::JournalRemove => format!("warning: cannot remove journal {target}"),
        What::NewOwner => {
            format!("warning: {target} was replaced, and could not get the owner it had")
        }
        What::MethodUnfit(method, why) => {
            format!("cannot copy {source} to {target} with --method={method}: {why}")
        }
        What::MethodRefused(method) => {
            format!("cannot copy {source} to {target} with --method={method}")
        }
        What::SourceNotDirect => format!(
            "warning: direct I/O is not possible on {source} and what else is on its file \
             system; its pages are dropped from the cache instead"
        ),
        What::TargetNotDirect => format!(
            "warning: direct I/O is not possible on {target} and what else is on its file \
             system; it is written through the cache and dropped from there instead"
        ),
        other => of_synchronising(other, source, target),
    }
}

/// Returns the message for what only a synchronisation does not do.
fn of_synchronising(what: What, source: &str, target: &str) -> String {
    match what {
        What::SkippedKind => format!("skipping non-regular file {source}"),
        What::SourceEmpty => format!(
            "{source} has no entry at all, so nothing is removed from {target}: if no file system is missing there, \
             use --allow-empty"
        ),
        What::SharedTarget => format!(
            "{source} and another source go to {target}, so it is not known what is to be deleted there"
        ),
        What::LinkedTarget => {
            format!(
                "not deleting in {target}: a symbolic link leads there; give a command of its own for it"
            )
        }
        What::OtherDevice => format!(
            "not deleting in {target}: another file system, or another view of one, is mounted there; give a command of \
             its own for it"
        ),
        What::BasisMissing => {
            format!("{target} is not searched for entries: it is no directory, seen from TARGET")
        }
        What::HoldsSource => format!("not removing {target}: the source is in it"),
        other => format!("{other:?} failed for {source}"),
    }
}
