//! Regular files: makes a new one, or opens the one that is there.

use std::sync::PoisonError;

use haul_sys::data::ftruncate;
use haul_sys::fs::{Access, Create, Follow, Kind, OpenHow, Wait, fstat, openat};
use haul_sys::{CallError, Errno};

use super::existing::{self, Answer, Verdict};
use super::make::Made;
use super::{Content, Item, Target, fill, find};
use crate::decide::{Action, Taken};
use crate::error::What;
use crate::monitor::Outcome;
use crate::request::{Force, Make};
use crate::run::Entry;
use crate::worker::{Task, Worker};

/// Makes or opens the target of a file, and leaves it open for its bytes.
pub(super) fn make(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> Made {
    let run = worker.run;
    // An entry that is already open needs no second thought: its name is made if it is free.
    // Otherwise what is there decides whether the source is opened at all.
    let is_open = matches!(item.content, Content::Data(Some(_)));
    let taken = if is_open { None } else { existing_answer(worker, task, entry, item) };
    let mut act = match taken {
        Some(Verdict::Settled) => return Made::No,
        Some(Verdict::Act(action, taken)) => Some((action, taken)),
        None => None,
    };
    if !is_open {
        entry.tell(run, Outcome::Copied, item.stat.kind());
        let Some(source) = find::open_described(run, task, entry, &item.stat) else {
            return Made::No;
        };
        item.content = Content::Data(Some(source));
    }
    if act.is_none() {
        match create(worker, task, entry, item) {
            Ok(()) => return Made::Yes,
            Err(error) if error.errno == Errno::EXIST => {
                match existing::judge(worker, task, entry, item) {
                    Verdict::Settled => return Made::No,
                    Verdict::Act(action, taken) => act = Some((action, taken)),
                }
            }
            Err(error) => return refused(worker, entry, error),
        }
    }
    match act {
        Some((Action::Overwrite, taken)) => overwrite(worker, task, entry, item, &taken),
        Some(_) => replace(worker, task, entry, item),
        None => Made::No,
    }
}

/// Looks at the target's name before the source is opened; `None` when it is free.
fn existing_answer(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &Item,
) -> Option<Verdict> {
    match haul_sys::fs::statat(task.handles.target(), entry.target) {
        Ok(_) => Some(existing::judge(worker, task, entry, item)),
        Err(error) if error.errno == Errno::NOENT => None,
        // The call that makes the name meets the same obstacle and gives it its proper name.
        Err(error) if matches!(error.errno, Errno::NOTDIR | Errno::ACCESS) => None,
        Err(error) => {
            entry.fail(worker.run, What::StatTarget, Some(error.errno));
            Some(Verdict::Settled)
        }
    }
}

fn create(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> Result<(), CallError> {
    let run = worker.run;
    let mode = crate::metadata::creation_mode(&item.stat, run.policy, run.me);
    let how = OpenHow::new_file(mode);
    let fd = run.with_descriptors(|| openat(task.handles.target(), entry.target, how))?;
    if entry.is_operand() {
        run.made_by_operand(entry.target, &fd);
    }
    item.target = Some(Target { fd, mode: Some(mode), before: None, leads_links: false });
    Ok(())
}

fn refused(worker: &Worker<'_, '_>, entry: &Entry<'_>, error: CallError) -> Made {
    // A name that ends in a slash can only be a directory; the kernel calls that EISDIR.
    let errno = if error.errno == Errno::ISDIR && entry.target.to_bytes().ends_with(b"/") {
        Errno::NOTDIR
    } else {
        error.errno
    };
    entry.fail(worker.run, What::CreateFile, Some(errno));
    Made::No
}

fn replace(worker: &Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &mut Item) -> Made {
    if existing::remove(worker, task, entry) == Answer::Settled {
        return Made::No;
    }
    match create(worker, task, entry, item) {
        Ok(()) => Made::Yes,
        Err(error) => refused(worker, entry, error),
    }
}

/// Opens what is there and empties it, once the descriptor has proved to be what was seen and not
/// the source.
fn overwrite(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
    taken: &Taken,
) -> Made {
    let run = worker.run;
    let is_link = taken.link.kind() == Kind::Symlink;
    let Some(reached) = taken.reached() else {
        return overwrite_dangling(worker, task, entry, item);
    };
    let how = OpenHow {
        access: Access::Write,
        create: Create::No,
        follow: if is_link { Follow::Yes } else { Follow::No },
        wait: if reached.kind() == Kind::Regular { Wait::No } else { Wait::Yes },
        extra: OpenHow::WRITE.extra,
    };
    // A file that can be reached by several names may be reached by two workers; they take turns.
    let several = is_link || reached.nlink > 1;
    let turn = several.then(|| run.several_names.lock().unwrap_or_else(PoisonError::into_inner));
    let fd = match run.with_descriptors(|| openat(task.handles.target(), entry.target, how)) {
        Ok(fd) => fd,
        Err(_) if run.policy.force == Force::IfUnopenable => {
            drop(turn);
            return replace(worker, task, entry, item);
        }
        Err(error) => return refused(worker, entry, error),
    };
    let before = match fstat(&fd) {
        Ok(before) => before,
        Err(error) => return refused(worker, entry, error),
    };
    if before.same_file(&item.stat) {
        entry.fail(run, What::SameFile, None);
        return Made::No;
    }
    if !before.same_file(&reached) {
        entry.fail(run, What::CreateFile, Some(Errno::STALE));
        return Made::No;
    }
    if before.kind() == Kind::Regular
        && before.size > 0
        && run.policy.make == Make::Copy
        && let Err(error) = ftruncate(&fd, 0)
    {
        return refused(worker, entry, error);
    }
    let target = Target { fd, mode: None, before: Some(before), leads_links: false };
    if several {
        if let Content::Data(source) = &mut item.content
            && let Some(source) = source.take()
        {
            fill::fill_alone(worker, task, entry, source, &item.stat, target);
        }
    } else {
        item.target = Some(target);
    }
    drop(turn);
    Made::Yes
}

/// Makes the file that a dangling link points to (POSIXLY_CORRECT).
fn overwrite_dangling(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) -> Made {
    let run = worker.run;
    let mode = crate::metadata::creation_mode(&item.stat, run.policy, run.me);
    let how = OpenHow {
        access: Access::Write,
        create: Create::IfAbsent(mode),
        follow: Follow::Yes,
        wait: Wait::No,
        extra: OpenHow::WRITE.extra,
    };
    match run.with_descriptors(|| openat(task.handles.target(), entry.target, how)) {
        Ok(fd) => {
            let before = fstat(&fd).ok();
            item.target = Some(Target { fd, mode: None, before, leads_links: false });
            Made::Yes
        }
        Err(error) => refused(worker, entry, error),
    }
}
