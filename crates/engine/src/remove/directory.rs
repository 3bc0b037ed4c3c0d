//! Removes directories: asks for consent, opens them, checks the guards, and handles their
//! entries.

use std::os::fd::AsFd;
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat, fchmod, fstat, open_directory, rmdirat};

use super::context::{Enter, Task, Worker};
use super::inside::inside;
use super::node::{Entry, Node, Place, RemoveDirectory, keep};
use super::prompt::{self, Inside, Stage};
use super::request::{Approval, Mode};
use super::{entry, guards, node};
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::data::selected;
use crate::names::by_identity::identity;
use haul_tree::Handle;
use haul_tree::{Identity, Reader};

/// Answer to whether a directory may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// No question was necessary.
    Given,
    /// The user agreed. The value is the state of the directory that the question was about.
    Asked(Inside),
    /// The user declined.
    Declined,
}

/// Decides whether a directory may be removed, and asks the user if required.
pub(super) fn may(
    worker: &Worker<'_, '_>,
    entry: Entry<'_>,
    stat: &Stat,
    stage: Stage,
) -> Result<Leave, Errno> {
    let policy = worker.operation.policy;
    if !prompt::looks(policy) {
        return Ok(Leave::Given);
    }
    let protection = entry::protection(policy, entry, stat)?;
    let within = if prompt::wants_inside(policy, stage, protection) {
        inside(entry.directory, entry.name)
    } else {
        Inside::Unknown
    };
    let consent = prompt::for_directory(policy, stage, within, protection);
    let asked = matches!(consent, prompt::Consent::Ask(_));
    match entry::consent(worker, entry, consent)? {
        true if asked => Ok(Leave::Asked(within)),
        true => Ok(Leave::Given),
        false => Ok(Leave::Declined),
    }
}

/// Opens a directory and returns its task.
pub(super) fn enter(worker: &mut Worker<'_, '_>, enter: Enter) -> Option<Arc<Task>> {
    let run = worker.operation;
    let parent = Arc::clone(&enter.parent);
    if !run.stopped() {
        let begun = match run.cache.of(&parent) {
            Ok(directory) => begin(worker, enter, &directory),
            Err(error) => {
                run.fail_unentered(&parent, &enter.name, What::Remove, Some(error.errno));
                None
            }
        };
        // From here on the worker does not keep the parent's descriptor: for every removal the
        // kernel walks through all removed directories below an open one.
        if begun.is_some() {
            return begun;
        }
    }
    worker.release_child(parent);
    None
}

/// Returns the directory's task, unless the directory is already finished.
fn begin(worker: &mut Worker<'_, '_>, enter: Enter, directory: &Handle) -> Option<Arc<Task>> {
    let run = worker.operation;
    let (parent, name) = (&enter.parent, &enter.name);
    let entry = Entry { parent, directory: directory.as_fd(), name };
    if prompt::looks(run.policy) && !ask(worker, entry) {
        return None;
    }
    let opened = run.cache.with_descriptors(|| open_directory(directory, name, Follow::No));
    let fd = match opened {
        Ok(fd) => fd,
        Err(error) => {
            closed(worker, entry, error.errno);
            return None;
        }
    };
    let (stat, place) = match fstat(&fd) {
        Ok(stat) if !run.approves(entry, &stat) => return None,
        Ok(stat) => (stat, guards::place(run.policy, stat.dev, &fd)),
        Err(error) => {
            run.fail_unentered(parent, name, What::Remove, Some(error.errno));
            return None;
        }
    };
    let id = identity(&stat);
    let top = if parent.is_root() { place } else { parent.top };
    if let Some((what, errno)) = refusal(worker, &enter, id, top, place) {
        run.fail_unentered(parent, name, what, errno);
        return None;
    }
    let within = match selected::enter(&parent.within, node::listing(parent), (name, false), &fd) {
        Ok(within) => within,
        Err((what, errno)) => {
            run.fail_unentered(parent, name, what, errno);
            return None;
        }
    };
    let protected = match parent.protected.enter_extraneous(name, &fd) {
        Ok(protected) => protected,
        Err((what, errno)) => {
            run.fail_unentered(parent, name, what, errno);
            return None;
        }
    };
    if run.unlocks && stat.permissions() & 0o700 != 0o700 {
        // If that fails, so do the removals, with messages.
        let _unlocked = fchmod(&fd, stat.permissions() | 0o700);
    }
    // A directory that is not listed itself stays.
    let stays = within.as_ref().is_some_and(|within| !within.is_selected());
    let delete_profile = run.delete_profiles.of(id.0, fd.as_fd());
    let handle = run.cache.adopt(Handle::from(fd));
    let mut directory = RemoveDirectory::new(enter.name, id, top, delete_profile);
    directory.attributes = (run.policy.approval == Approval::Each).then(|| node::attributes(&stat));
    directory.within = within;
    directory.protected = protected;
    let node = Arc::new(Node::new(Some(enter.parent), directory));
    if stays {
        keep(&node);
    }
    run.cache.keep(&node, &handle);
    let room = node.room();
    Some(Arc::new(Task::new(node, Reader::new(), room)))
}

/// Checks the guards that need an open descriptor. The name may have changed its meaning before
/// the open; the descriptor is the directory that would be emptied.
fn refusal(
    worker: &Worker<'_, '_>,
    enter: &Enter,
    id: Identity,
    top: Place,
    place: Place,
) -> Option<(What, Option<Errno>)> {
    let run = worker.operation;
    if run.root == Some(id) {
        return Some((What::Root, None));
    }
    if run.kept.is_some_and(|kept| kept.contains(&id)) {
        return Some((What::HoldsSource, None));
    }
    if enter.expected.is_some_and(|expected| expected != id) {
        return Some((What::Remove, Some(Errno::STALE)));
    }
    guards::is_beyond(run.policy, top, place).then_some((What::OtherDevice, None))
}

/// Asks whether to descend into a directory; removes an empty one at once. Returns whether to
/// enter the directory.
fn ask(worker: &mut Worker<'_, '_>, entry: Entry<'_>) -> bool {
    let run = worker.operation;
    let stat = match entry.stat() {
        Ok(stat) => stat,
        Err(error) => {
            selected::meet_below(&entry.parent.within, entry.name);
            entry::unremovable(worker, entry, error.errno);
            return false;
        }
    };
    match may(worker, entry, &stat, Stage::Descend) {
        Ok(Leave::Given) => true,
        Ok(Leave::Asked(Inside::Empty)) if !run.keeps_unread() => {
            remove_directory(worker, entry, None);
            false
        }
        Ok(Leave::Asked(_)) => true,
        Ok(Leave::Declined) => {
            keep(entry.parent);
            WorkerCounters::one(&worker.local.counters.skipped);
            false
        }
        Err(errno) => {
            run.fail_unentered(entry.parent, entry.name, What::Remove, Some(errno));
            false
        }
    }
}

/// Handles a directory that cannot be opened. An empty one can still be removed. An entry that has
/// replaced the directory stays.
fn closed(worker: &mut Worker<'_, '_>, entry: Entry<'_>, errno: Errno) {
    let run = worker.operation;
    if run.policy.approval == Approval::Each || run.keeps_unread() {
        // A directory that cannot be read cannot be compared with its copy, or was empty before, so it stays.
        return run.fail_unentered(entry.parent, entry.name, What::Remove, Some(errno));
    }
    match may_go(worker, entry) {
        Ok(true) => remove_directory(worker, entry, Some(errno)),
        Ok(false) => {}
        Err(errno) => run.fail_unentered(entry.parent, entry.name, What::Remove, Some(errno)),
    }
}

/// Asks whether a directory whose entries were handled may be removed, if the policy requires a
/// question. Counts a declined one.
pub(super) fn may_go(worker: &mut Worker<'_, '_>, entry: Entry<'_>) -> Result<bool, Errno> {
    if !prompt::looks(worker.operation.policy) {
        return Ok(true);
    }
    let stat = entry.stat().map_err(|error| error.errno)?;
    match may(worker, entry, &stat, Stage::Remove)? {
        Leave::Given | Leave::Asked(_) => Ok(true),
        Leave::Declined => {
            keep(entry.parent);
            WorkerCounters::one(&worker.local.counters.skipped);
            Ok(false)
        }
    }
}

/// Removes a directory that is, or may be, empty. If it could not be opened, the message names
/// that errno, because it says more than `ENOTEMPTY`.
fn remove_directory(worker: &mut Worker<'_, '_>, entry: Entry<'_>, earlier: Option<Errno>) {
    let run = worker.operation;
    if !run.may_remove(entry.parent) {
        return;
    }
    let answer = match run.policy.mode {
        Mode::Pretend => Ok(()),
        Mode::Remove => rmdirat(entry.directory, entry.name),
    };
    match (answer, earlier) {
        (Ok(()), _) => {
            WorkerCounters::one(&worker.local.counters.directories);
            run.tell(entry.parent, entry.name, Kind::Directory);
        }
        (Err(error), Some(earlier))
            if matches!(
                error.errno,
                Errno::NOTEMPTY | Errno::ISDIR | Errno::NOTDIR | Errno::EXIST
            ) =>
        {
            // A symbolic link in place of a directory is not a directory, whatever errno the open
            // returned.
            let errno = if earlier == Errno::LOOP { Errno::NOTDIR } else { earlier };
            run.fail(entry.parent, entry.name, What::Remove, Some(errno));
        }
        (Err(error), _) => entry::unremovable(worker, entry, error.errno),
    }
}
