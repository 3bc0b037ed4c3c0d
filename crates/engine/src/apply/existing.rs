//! A name that is taken already: looks at it, decides, asks, and makes room.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, fstat, open_directory, statat, statat_follow, unlinkat};

use super::Item;
use crate::decide::{Action, Found, Taken, decide};
use crate::error::What;
use crate::monitor::{Outcome, Question, Shard};
use crate::run::Entry;
use crate::walk::node::{Origin, identity};
use crate::worker::{Task, Worker};

/// What is to be done with a name that is taken.
pub(super) enum Verdict {
    /// Carry this out; nothing but merging, overwriting and replacing is left.
    Act(Action, Box<Taken>),
    /// Everything was said and done.
    Settled,
}

/// Whether a name is free to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Free,
    /// It is not, and that was reported where it had to be.
    Settled,
}

/// Decides what becomes of an entry whose target name is taken, with the person's consent where
/// the policy wants it.
pub(super) fn judge(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &Item,
) -> Verdict {
    let run = worker.run;
    let target = task.handles.target();
    let taken = match look(target, entry.target) {
        Ok(taken) => taken,
        Err(error) => {
            entry.fail(run, What::StatTarget, Some(error.errno));
            return Verdict::Settled;
        }
    };
    if task.origin == Origin::Made {
        // This run made the directory, so the name is one of its own entries in another spelling
        // (a target that ignores case), or somebody planted it: never to be written to.
        entry.fail(run, created(item), Some(Errno::EXIST));
        return Verdict::Settled;
    }
    if entry.is_operand() && was_just_made(worker, entry, &taken, item) {
        entry.fail(run, What::JustCreated, None);
        return Verdict::Settled;
    }
    let same_name = item.link.same_file(&taken.link) && is_same_name(task, entry);
    let found = Found { stat: item.stat, link: item.link, same_name };
    let decision = decide(&found, &taken, run.policy);
    if decision.ask && !agreed(worker, entry, &taken) {
        Shard::one(&worker.shard.skipped);
        run.control.failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        return Verdict::Settled;
    }
    match decision.action {
        Action::Skip => {
            Shard::one(&worker.shard.skipped);
            entry.tell(run, Outcome::Skipped, item.stat.kind());
            Verdict::Settled
        }
        Action::Refuse(what) => {
            entry.fail(run, what, None);
            Verdict::Settled
        }
        Action::Create => {
            entry.fail(run, created(item), Some(Errno::EXIST));
            Verdict::Settled
        }
        action @ (Action::Merge | Action::Overwrite | Action::Replace) => {
            Verdict::Act(action, Box::new(taken))
        }
    }
}

/// Removes what is in the way of something that can only be made anew.
pub(super) fn make_room(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &Item,
) -> Answer {
    match judge(worker, task, entry, item) {
        Verdict::Settled => Answer::Settled,
        Verdict::Act(..) => remove(worker, task, entry),
    }
}

/// Removes a taken name.
pub(super) fn remove(worker: &Worker<'_, '_>, task: &Task, entry: &Entry<'_>) -> Answer {
    match unlinkat(task.handles.target(), entry.target) {
        Ok(()) => {
            entry.tell(worker.run, Outcome::Removed, Kind::Regular);
            Answer::Free
        }
        Err(error) if error.errno == Errno::NOENT => Answer::Free,
        Err(error) => {
            entry.fail(worker.run, What::Remove, Some(error.errno));
            Answer::Settled
        }
    }
}

fn look(target: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<Taken> {
    let link = statat(target, name)?;
    let followed = if link.kind() == Kind::Symlink {
        match statat_follow(target, name) {
            Ok(stat) => Some(stat),
            Err(error) if matches!(error.errno, Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => None,
            Err(error) => return Err(error),
        }
    } else {
        None
    };
    Ok(Taken { link, followed })
}

/// The failure of the call that makes this kind of entry.
fn created(item: &Item) -> What {
    match item.stat.kind() {
        Kind::Directory => What::CreateDirectory,
        Kind::Symlink => What::CreateSymlink,
        Kind::Fifo => What::CreateFifo,
        Kind::Socket | Kind::BlockDevice | Kind::CharDevice => What::CreateSpecial,
        Kind::Regular | Kind::Unknown => What::CreateFile,
    }
}

/// Tells whether an operand before this one made the target, which would lose that one's data.
fn was_just_made(worker: &Worker<'_, '_>, entry: &Entry<'_>, taken: &Taken, item: &Item) -> bool {
    let both_files = item.stat.kind() != Kind::Directory && taken.link.kind() != Kind::Directory;
    both_files && worker.run.was_made_by_operand(entry.target, identity(&taken.link))
}

fn agreed(worker: &Worker<'_, '_>, entry: &Entry<'_>, taken: &Taken) -> bool {
    let reached = taken.reached().unwrap_or(taken.link);
    let unwritable = !worker.run.may_write(&reached);
    worker.run.monitor.ask(&Question {
        target: entry.target_path(),
        unwritable_mode: unwritable.then_some(reached.permissions()),
    })
}

/// Tells whether source and target are one directory entry: the same name in the same directory,
/// however the two paths are spelled.
fn is_same_name(task: &Task, entry: &Entry<'_>) -> bool {
    let (source_directory, source_name) = split(entry.source.to_bytes());
    let (target_directory, target_name) = split(entry.target.to_bytes());
    if source_name != target_name {
        return false;
    }
    let directory = |base: BorrowedFd<'_>, path: &[u8]| {
        let path = std::ffi::CString::new(if path.is_empty() { b".".as_slice() } else { path });
        let path = path.ok()?;
        open_directory(base, &path, Follow::Yes).and_then(|fd| fstat(&fd)).ok()
    };
    let source = directory(task.handles.source(), source_directory);
    let target = directory(task.handles.target(), target_directory);
    source.zip(target).is_some_and(|(source, target)| source.same_file(&target))
}

/// Splits a path into its directory and its last component, slashes at its end aside.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = path.get(..end).unwrap_or(path);
    match trimmed.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => {
            (trimmed.get(..=slash).unwrap_or(b""), trimmed.get(slash + 1..).unwrap_or(b""))
        }
        None => (b"", trimmed),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_split_before_the_last_component() {
        assert_eq!(split(b"a/b/c"), (b"a/b/".as_slice(), b"c".as_slice()));
        assert_eq!(split(b"c"), (b"".as_slice(), b"c".as_slice()));
        assert_eq!(split(b"/c//"), (b"/".as_slice(), b"c".as_slice()));
    }
}
