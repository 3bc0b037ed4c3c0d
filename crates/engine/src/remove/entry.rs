//! Removes entries that are not directories: one `unlinkat` each.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat, may_write_at, unlinkat};

use super::approved;
use super::aside::PutAside;
use super::context::{Enter, Worker};
use super::gentle;
use super::node::{Entry, Node, keep, path_of};
use super::prompt::{self, Consent};
use super::request::{Approval, Ask, Mode, Policy};
use crate::data::error::What;
use crate::data::monitor::{Protection, WorkerCounters};
use haul_tree::Entries;
use haul_tree::Handle;

/// Removes a batch of entries; pushes the directories among them onto the stack.
pub(super) fn remove(
    worker: &mut Worker<'_, '_>,
    node: &Arc<Node>,
    directory: &Handle,
    names: &Entries,
) {
    let run = worker.operation;
    for slot in &names.slots {
        if run.stopped() {
            return;
        }
        let name = names.name(slot);
        match slot.kind {
            Some(Kind::Directory) => later(worker, Enter::found(node, name, slot.ino)),
            kind => {
                one(worker, Entry { parent: node, directory: directory.as_fd(), name }, kind);
            }
        }
    }
    node.progress.store(true, Ordering::Relaxed);
}

/// Pushes a directory onto the stack.
pub(super) fn later(worker: &mut Worker<'_, '_>, enter: Enter) {
    enter.parent.owe();
    worker.push(enter);
}

fn one(worker: &mut Worker<'_, '_>, entry: Entry<'_>, kind: Option<Kind>) {
    let run = worker.operation;
    let gentle = run.throttle.is_gentle() && kind.is_none_or(|kind| kind == Kind::Regular);
    let mut stat = None;
    if kind.is_none() || gentle || prompt::looks(run.policy) {
        match entry.stat() {
            Ok(found) if found.kind() == Kind::Directory => {
                return later(worker, Enter::found(entry.parent, entry.name, found.ino));
            }
            Ok(found) => stat = Some(found),
            Err(error) => return unremovable(worker, entry, error.errno),
        }
    }
    unlink_entry(worker, entry, kind, stat);
}

/// Removes an entry that is not a directory, after the user has agreed if required.
pub(super) fn unlink_entry(
    worker: &mut Worker<'_, '_>,
    entry: Entry<'_>,
    kind: Option<Kind>,
    stat: Option<Stat>,
) {
    let run = worker.operation;
    let Entry { parent: node, directory, name } = entry;
    let approves_each = run.policy.approval == Approval::Each;
    if let Some(stat) = &stat
        && prompt::looks(run.policy)
    {
        let consent = match protection(run.policy, entry, stat) {
            Ok(protection) => {
                consent(worker, entry, prompt::for_entry(run.policy, stat, protection))
            }
            Err(errno) => Err(errno),
        };
        match consent {
            Ok(true) => {}
            // GNU rm does not count a declined entry as kept: it still asks for the directory.
            Ok(false) => return WorkerCounters::one(&worker.local.counters.skipped),
            Err(errno) => return run.fail(node, name, What::Remove, Some(errno)),
        }
    }
    if !run.may_remove(node) {
        return;
    }
    let kind = kind.or(stat.map(|stat| stat.kind())).unwrap_or(Kind::Unknown);
    let aside = run.aside.filter(|aside| aside.of(name) != PutAside::Nowhere);
    if aside.is_some_and(|aside| aside.of(name) == PutAside::Beside) {
        keep(node);
    }
    let removed = match (run.policy.mode, &stat) {
        (Mode::Pretend, _) => Ok(true),
        (Mode::Remove, _) if approves_each => approved::unlink(run, entry),
        (Mode::Remove, Some(stat)) if run.throttle.is_gentle() => {
            gentle::unlink(run, entry, stat).map(|()| true)
        }
        (Mode::Remove, _) => match aside {
            Some(aside) => aside.put(directory, name, &path_of(node, name)).map(|()| true),
            None => unlinkat(directory, name).map(|()| true),
        },
    };
    match removed {
        Ok(false) => {}
        Ok(true) => {
            WorkerCounters::one(match kind {
                Kind::Regular | Kind::Unknown => &worker.local.counters.files,
                Kind::Symlink => &worker.local.counters.symlinks,
                Kind::Directory => &worker.local.counters.directories,
                Kind::Fifo | Kind::Socket | Kind::BlockDevice | Kind::CharDevice => {
                    &worker.local.counters.specials
                }
            });
            run.tell(node, name, kind);
        }
        // The selection has judged a file, and its rules about directories may keep this one.
        Err(error) if error.errno == Errno::ISDIR && run.selection.is_some() => {
            run.fail(node, name, What::Remove, Some(Errno::STALE));
        }
        // The entry has become a directory, or the file system reported a wrong kind.
        Err(error) if error.errno == Errno::ISDIR && !node.is_root() => {
            later(worker, Enter::found(node, name, stat.map_or(0, |stat| stat.ino)));
        }
        Err(error) => unremovable(worker, entry, error.errno),
    }
}

/// Carries out a consent decision. Returns whether the entry may be removed.
pub(super) fn consent(
    worker: &Worker<'_, '_>,
    entry: Entry<'_>,
    consent: Consent,
) -> Result<bool, Errno> {
    match consent {
        Consent::Given => Ok(true),
        Consent::Refused(errno) => Err(errno),
        // With `Pretend`, no question is asked.
        Consent::Ask(_) if worker.operation.policy.mode == Mode::Pretend => Ok(true),
        Consent::Ask(reason) => Ok(worker.operation.ask(entry.parent, entry.name, reason)),
    }
}

/// Returns whether the user may write to an entry. Checked only if the answer decides about a
/// question.
pub(super) fn protection(
    policy: &Policy,
    entry: Entry<'_>,
    stat: &Stat,
) -> Result<Protection, Errno> {
    if policy.privileged || policy.ask == Ask::Never || stat.kind() == Kind::Symlink {
        return Ok(Protection::None);
    }
    match may_write_at(entry.directory, entry.name) {
        Ok(()) => Ok(Protection::None),
        Err(error) if error.errno == Errno::ACCESS => Ok(Protection::Protected),
        Err(error) => Err(error.errno),
    }
}

/// Reports that a name could not be removed, unless the name does not exist and the policy ignores
/// that.
pub(super) fn unremovable(worker: &Worker<'_, '_>, entry: Entry<'_>, errno: Errno) {
    let run = worker.operation;
    // A read-only file system fails before it looks up the name.
    let missing =
        errno == Errno::ROFS && entry.stat().is_err_and(|error| error.errno == Errno::NOENT);
    let errno = if missing { Errno::NOENT } else { errno };
    if !run.is_missing(errno) {
        run.fail(entry.parent, entry.name, What::Remove, Some(errno));
    }
}
