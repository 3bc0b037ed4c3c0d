//! A name that is taken already: looks at it, decides, asks, and makes room.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{
    Access, Follow, Kind, OpenHow, RenameMode, fstat, may_write_at, openat, renameat, statat,
    statat_follow, unlinkat,
};

use super::item::Item;
use super::{backup, find};
use crate::context::{Task, Worker};
use crate::decide::{Action, Found, Taken, decide, over_just_created};
use crate::entry::Entry;
use crate::error::What;
use crate::monitor::{Outcome, Question, Shard};
use crate::request::{Force, Make};
use crate::run::Run;
use crate::timestamp_precision;
use crate::walk::node::{Origin, identity};
use crate::walk::path::{directory_of, split};

/// How things stand with the name that an entry is to get.
pub(super) enum TargetState {
    /// It is free, or was freed.
    Free,
    /// The file that has it gets new contents.
    Overwrite(Box<Taken>),
    /// The link that is made takes its place at once.
    Swap,
    /// What is made takes its place at once, when it is complete.
    Replace(Box<Taken>, Inherits),
    /// The directory that has it gets the entries.
    Merge(Box<Taken>),
    /// The entry is done with: left out, refused, or failed; and that was told where it had to be.
    Settled(Done),
}

/// Whether a file that takes another's place takes over its owner and bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inherits {
    /// It does, for the other would have been overwritten.
    Yes,
    /// It does not, for the other would have been removed.
    No,
}

/// Why an entry is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// What is there is as good as the entry.
    Skipped,
    /// It could not be, or must not be.
    Failed,
}

/// Looks at an entry's name before anything is made, and makes room where that is the policy.
pub(super) fn stand(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> TargetState {
    // Nothing is in a directory that this run made; the exclusive calls find out if something is.
    if task.origin == Origin::Made {
        return TargetState::Free;
    }
    stand_taken(worker, task, entry, item)
}

/// The same for a name that was just found to be taken.
pub(super) fn stand_taken(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> TargetState {
    let run = worker.operation;
    let failed = TargetState::Settled(Done::Failed);
    let taken = match look(task.handles.target(), entry.target) {
        Ok(Some(taken)) => taken,
        Ok(None) => return TargetState::Free,
        Err(error) => {
            entry.fail(run, What::StatTarget, Some(error.errno));
            return failed;
        }
    };
    if task.origin == Origin::Made {
        // This run made the directory, so the name is one of its own entries in another spelling
        // (a target that ignores case), or somebody planted it: never to be written to.
        entry.fail(run, created(item.stat.kind()), Some(Errno::EXIST));
        return failed;
    }
    let same_name = item.link.same_file(&taken.link) && is_same_name(task, entry);
    let followed = (item.link.kind() == Kind::Symlink)
        .then(|| statat_follow(task.handles.source(), entry.source).ok())
        .flatten();
    let keeps_links = find::follows(run, entry) == Follow::No;
    let found = Found { stat: item.stat, link: item.link, followed, keeps_links, same_name };
    let decision = decide(&found, &taken, run.policy);
    if decision.ask && !agreed(worker, entry, &taken) {
        Shard::one(&worker.local.shard.skipped);
        run.control.failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        return failed;
    }
    let takes_the_name = matches!(
        decision.action,
        Action::Overwrite
            | Action::Replace
            | Action::BackUp
            | Action::Create
            // A link that another operand has just made, and that leads nowhere.
            | Action::Refuse(What::DanglingTarget)
    );
    if takes_the_name
        && entry.is_operand()
        && run.is_operand_name(entry.target, identity(&taken.link))
        && let Some(what) = over_just_created(item.stat.kind(), &taken, run.policy)
    {
        entry.fail(run, what, None);
        return failed;
    }
    act(worker, task, entry, item, (decision.action, taken))
}

fn act(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
    (action, taken): (Action, Taken),
) -> TargetState {
    let run = worker.operation;
    let whole = run.policy.appears_whole();
    match action {
        // The same file by a second name: a hard link, or what a link leads to.
        Action::Overwrite
            if entry.is_operand()
                && taken
                    .reached()
                    .is_some_and(|file| run.has_bytes_of_another(&file, &item.stat)) =>
        {
            entry.fail(run, What::JustCreated, None);
            TargetState::Settled(Done::Failed)
        }
        Action::Overwrite if whole && is_a_file(&taken) => {
            replace_overwritten(worker, task, entry, taken)
        }
        Action::Overwrite => TargetState::Overwrite(Box::new(taken)),
        Action::Merge => TargetState::Merge(Box::new(taken)),
        // The call that makes the name says what is in its way.
        Action::Create => TargetState::Free,
        // A link takes the other's place without a gap, and may be made of what it replaces.
        Action::Replace if matches!(run.policy.make, Make::HardLink | Make::SymbolicLink) => {
            TargetState::Swap
        }
        Action::Replace if whole => TargetState::Replace(Box::new(taken), Inherits::No),
        Action::Replace => remove(worker, task, entry),
        Action::BackUp if whole => match link_backup(worker, task, entry, item) {
            Some(TargetState::Free) => TargetState::Replace(Box::new(taken), Inherits::No),
            Some(standing) => standing,
            None => back_up(worker, task, entry, item),
        },
        Action::BackUp => back_up(worker, task, entry, item),
        Action::Skip => {
            Shard::one(&worker.local.shard.skipped);
            entry.tell(run, Outcome::Skipped, item.stat.kind());
            TargetState::Settled(Done::Skipped)
        }
        Action::Refuse(what) => {
            if what == What::DanglingTarget {
                // GNU cp finds this out when it has already said what it does.
                entry.tell(run, Outcome::Copied, item.stat.kind());
            }
            let errno = (what == What::StatTarget).then_some(Errno::LOOP);
            entry.fail(run, what, errno);
            TargetState::Settled(Done::Failed)
        }
    }
}

fn is_a_file(taken: &Taken) -> bool {
    taken.reached().is_some_and(|reached| reached.kind() == Kind::Regular)
}

/// A file that could not be written to is not replaced either: its bits were meant so.
fn replace_overwritten(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    taken: Taken,
) -> TargetState {
    if worker.operation.policy.force == Force::No
        && let Err(error) = may_write_at(task.handles.target(), entry.target)
    {
        entry.fail(worker.operation, What::CreateFile, Some(error.errno));
        return TargetState::Settled(Done::Failed);
    }
    TargetState::Replace(Box::new(taken), Inherits::Yes)
}

/// Removes a taken name.
pub(super) fn remove(worker: &mut Worker<'_, '_>, task: &Task, entry: &Entry<'_>) -> TargetState {
    match unlinkat(task.handles.target(), entry.target) {
        Ok(()) => {
            entry.tell(worker.operation, Outcome::Removed, Kind::Regular);
            TargetState::Free
        }
        Err(error) if error.errno == Errno::NOENT => TargetState::Free,
        Err(error) => {
            entry.fail(worker.operation, What::Remove, Some(error.errno));
            TargetState::Settled(Done::Failed)
        }
    }
}

/// Gives what is there the backup's name as well, so that its own is never free; `None` where there
/// are no second names.
fn link_backup(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> Option<TargetState> {
    let run = worker.operation;
    let policy = run.policy.backup.as_ref()?;
    let target = task.handles.target();
    if backup::would_destroy((entry.source, &item.link), target, entry.target, policy) {
        entry.fail(run, What::BackupDestroysSource, None);
        return Some(TargetState::Settled(Done::Failed));
    }
    match backup::link(target, entry.target, policy) {
        Ok(name) => {
            item.backup = Some(name);
            Some(TargetState::Free)
        }
        // link(2): EPERM and EOPNOTSUPP where there are no hard links or none to this file, EMLINK
        // where it has as many as it can have.
        Err(error) if matches!(error.errno, Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK) => None,
        Err(error) => {
            entry.fail(run, What::Backup, Some(error.errno));
            Some(TargetState::Settled(Done::Failed))
        }
    }
}

fn back_up(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> TargetState {
    let run = worker.operation;
    let Some(policy) = &run.policy.backup else { return TargetState::Settled(Done::Failed) };
    let target = task.handles.target();
    if backup::would_destroy((entry.source, &item.link), target, entry.target, policy) {
        entry.fail(run, What::BackupDestroysSource, None);
        return TargetState::Settled(Done::Failed);
    }
    match backup::make(target, entry.target, policy) {
        Ok(name) => {
            item.backup = Some(name);
            TargetState::Free
        }
        Err(error) if error.errno == Errno::NOENT => TargetState::Free,
        Err(error) => {
            entry.fail(run, What::Backup, Some(error.errno));
            TargetState::Settled(Done::Failed)
        }
    }
}

/// Gives a backup its old name again, for what was to replace it did not come about.
pub(super) fn restore(run: &Run<'_>, directory: BorrowedFd<'_>, entry: &Entry<'_>, backup: &CStr) {
    // A backup that is a second name of what is still there has only to go again.
    let twins = statat(directory, backup).and_then(|one| {
        let other = statat(directory, entry.target)?;
        Ok(one.same_file(&other))
    });
    let restored = if twins == Ok(true) {
        unlinkat(directory, backup)
    } else {
        renameat(directory, backup, directory, entry.target, RenameMode::Replace)
    };
    if let Err(error) = restored {
        entry.fail(run, What::RestoreBackup, Some(error.errno));
    }
}

/// Describes a taken name; `None` if nobody has it.
pub(crate) fn look(target: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<Option<Taken>> {
    let link = match statat(target, name) {
        Ok(link) => link,
        Err(error) if error.errno == Errno::NOENT => return Ok(None),
        Err(error) => return Err(error),
    };
    let step_ns = timestamp_precision::step_ns(&link, target);
    let mut taken = Taken { link, followed: None, is_loop: false, step_ns };
    if link.kind() == Kind::Symlink {
        match statat_follow(target, name) {
            Ok(stat) => {
                taken.step_ns = timestamp_precision::step_ns(&stat, target);
                taken.followed = Some(stat);
            }
            Err(error) if error.errno == Errno::NOENT => {}
            Err(error) if error.errno == Errno::LOOP => taken.is_loop = true,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(taken))
}

/// Returns the failure of the call that makes this kind of entry.
pub(crate) const fn created(kind: Kind) -> What {
    match kind {
        Kind::Directory => What::CreateDirectory,
        Kind::Symlink => What::CreateSymlink,
        Kind::Fifo => What::CreateFifo,
        Kind::Socket | Kind::BlockDevice | Kind::CharDevice => What::CreateSpecial,
        Kind::Regular | Kind::Unknown => What::CreateFile,
    }
}

fn agreed(worker: &mut Worker<'_, '_>, entry: &Entry<'_>, taken: &Taken) -> bool {
    let reached = taken.reached().unwrap_or(taken.link);
    let unwritable = !worker.operation.may_write(&reached);
    worker.operation.monitor.ask(&Question {
        target: entry.target_path(),
        unwritable_mode: unwritable.then_some(reached.permissions()),
    })
}

/// Tells whether source and target are one directory entry: the same name in the same directory,
/// however the two paths are spelled.
fn is_same_name(task: &Task, entry: &Entry<'_>) -> bool {
    is_one_entry(
        (task.handles.source(), entry.source.to_bytes()),
        (task.handles.target(), entry.target.to_bytes()),
    )
}

/// A handle on a directory, which a link may lead to and which need not be readable.
pub(crate) const DIRECTORY: OpenHow =
    OpenHow { access: Access::Path, follow: Follow::Yes, ..OpenHow::READ };

/// Tells whether two paths, each from a directory, are one directory entry. Where that cannot be found
/// out they are not.
pub(crate) fn is_one_entry(one: (BorrowedFd<'_>, &[u8]), two: (BorrowedFd<'_>, &[u8])) -> bool {
    if split(one.1).1 != split(two.1).1 {
        return false;
    }
    let directory = |(base, path): (BorrowedFd<'_>, &[u8])| {
        openat(base, &directory_of(path), DIRECTORY).and_then(|fd| fstat(&fd)).ok()
    };
    directory(one).zip(directory(two)).is_some_and(|(one, two)| one.same_file(&two))
}
