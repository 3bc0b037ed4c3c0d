//! Hard links: names that stay names of one file, and names made of the source itself.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, linkat, statat, unlinkat};

use super::existing::{self, Done, TargetState};
use super::{Content, Item, already_done, find};
use crate::error::What;
use crate::finish::secure_place;
use crate::journal::Names;
use crate::monitor::{Outcome, Shard};
use crate::request::Existing;
use crate::run::{Entry, Run};
use crate::walk::node::{Identity, Node};
use crate::worker::{Task, Worker};

/// The map is split, so that workers in different directories seldom meet.
const SHARDS: usize = 16;

/// A name in the target.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) node: Arc<Node>,
    pub(crate) name: CString,
    /// What it is called in the source.
    pub(crate) source: CString,
}

/// Whether a file has all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    NotYet,
    /// Not yet, and before it is it has no name.
    Unnamed,
}

/// A file of the target that has, or may get, several names.
struct Group {
    first: Name,
    /// The other names, kept until the first is complete, for they share its fate.
    others: Vec<Name>,
    /// Entries that are to be names of it, once it has one itself.
    waiting: Vec<Waiting>,
    /// Names of the source that did not come along yet; the group is forgotten with the last.
    left: u64,
    complete: bool,
    /// Whether the first has its name only when it is complete.
    unnamed: bool,
}

/// An entry that waits for the first name of its file.
pub(crate) struct Waiting {
    node: Arc<Node>,
    source: CString,
    target: CString,
    item: Item,
}

/// Which files of the source were copied already, for those with several names.
#[derive(Default)]
pub(crate) struct LinkMap {
    shards: [Mutex<HashMap<Identity, Group>>; SHARDS],
}

/// What to do with a name of such a file.
pub(super) enum Claim<'a> {
    /// It is the first: make it, then publish it. Others wait meanwhile.
    First(First<'a>),
    /// This one was made before: link to it.
    Made(Name),
    /// This one is on its way, and has no name yet.
    Coming(Coming<'a>),
}

/// The place where entries wait for the first name of their file.
pub(super) struct Coming<'a> {
    shard: MutexGuard<'a, HashMap<Identity, Group>>,
    id: Identity,
}

impl Coming<'_> {
    /// Puts an entry by until the file has its first name.
    pub(super) fn wait(mut self, entry: &Entry<'_>, item: &mut Item) {
        let Some(group) = self.shard.get_mut(&self.id) else { return };
        entry.node.owe();
        let (stat, link, slot) = (item.stat, item.link, item.slot);
        group.waiting.push(Waiting {
            node: Arc::clone(entry.node),
            source: entry.source.to_owned(),
            target: entry.target.to_owned(),
            item: Item { slot, content: Content::Special, stat, link, backup: None, target: None },
        });
    }
}

/// The right to make the first name.
pub(super) struct First<'a> {
    shard: MutexGuard<'a, HashMap<Identity, Group>>,
    id: Identity,
}

impl First<'_> {
    /// Tells the others where the file is.
    pub(super) fn publish(mut self, entry: &Entry<'_>, names: u64, complete: Complete) {
        let first = Name {
            node: Arc::clone(entry.node),
            name: entry.target.to_owned(),
            source: entry.source.to_owned(),
        };
        let group = Group {
            first,
            others: Vec::new(),
            waiting: Vec::new(),
            left: names.saturating_sub(1),
            complete: complete == Complete::Yes,
            unnamed: complete == Complete::Unnamed,
        };
        self.shard.insert(self.id, group);
    }
}

impl LinkMap {
    fn shard(&self, id: Identity) -> MutexGuard<'_, HashMap<Identity, Group>> {
        // The low bits of an inode number are the ones that differ.
        let index = usize::try_from(id.1 % SHARDS as u64).unwrap_or(0);
        self.shards
            .get(index)
            .unwrap_or(&self.shards[0])
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks what to do with a name of this file.
    pub(super) fn claim(&self, id: Identity) -> Claim<'_> {
        let shard = self.shard(id);
        match shard.get(&id) {
            Some(group) if group.unnamed && !group.complete => Claim::Coming(Coming { shard, id }),
            Some(group) => Claim::Made(group.first.clone()),
            None => Claim::First(First { shard, id }),
        }
    }

    /// Books another name of a file.
    fn joined(&self, id: Identity, name: Name) {
        let mut shard = self.shard(id);
        let Some(group) = shard.get_mut(&id) else { return };
        group.left = group.left.saturating_sub(1);
        if !group.complete {
            group.others.push(name);
        } else if group.left == 0 {
            shard.remove(&id);
        }
    }

    /// Hears that a file is complete: its names are good, and what waits can be linked to it.
    pub(crate) fn completed(&self, id: Identity) -> Option<(Name, Vec<Waiting>)> {
        let mut shard = self.shard(id);
        let group = shard.get_mut(&id)?;
        group.complete = true;
        group.others = Vec::new();
        let waiting = std::mem::take(&mut group.waiting);
        let first = group.first.clone();
        if group.left == 0 {
            shard.remove(&id);
        }
        Some((first, waiting))
    }

    /// Hears that a file could not be completed: what waits for it waits in vain.
    pub(crate) fn abandoned(&self, id: Identity) -> Vec<Waiting> {
        self.shard(id)
            .get_mut(&id)
            .map(|group| std::mem::take(&mut group.waiting))
            .unwrap_or_default()
    }

    /// Hears that a file could not be completed: its other names have to go as well.
    pub(crate) fn failed(&self, id: Identity) -> Vec<Name> {
        self.shard(id).remove(&id).map(|group| group.others).unwrap_or_default()
    }
}

/// Makes an entry that waited another name of its file, which has one now.
pub(super) fn link_waiting(worker: &mut Worker<'_, '_>, first: &Name, waiting: Waiting) {
    let run = worker.operation;
    let Waiting { node, source, target, mut item } = waiting;
    let entry = Entry { node: &node, source: &source, target: &target, rest: None };
    match run.cache.of(&node) {
        Ok(handles) => {
            let task = Task { node: Arc::clone(&node), handles };
            to_first(worker, &task, &entry, &mut item, first);
        }
        Err(error) => entry.fail(run, What::CreateHardLink, Some(error.errno)),
    }
    worker.release(node);
}

/// Reports an entry whose file did not come about.
pub(super) fn give_up(worker: &mut Worker<'_, '_>, waiting: Waiting) {
    let run = worker.operation;
    let Waiting { node, source, target, .. } = waiting;
    if !run.stopped() {
        let entry = Entry { node: &node, source: &source, target: &target, rest: None };
        entry.fail(run, What::CreateHardLink, None);
    }
    worker.release(node);
}

/// Makes an entry another name of a file of the target.
pub(super) fn to_first(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
    first: &Name,
) {
    let run = worker.operation;
    let handles = match run.cache.of(&first.node) {
        Ok(handles) => handles,
        Err(error) => {
            entry.fail(run, What::CreateHardLink, Some(error.errno));
            return;
        }
    };
    let target = task.handles.target();
    let link = || linkat(handles.target(), &first.name, target, entry.target, Follow::No);
    let mut answer = link();
    if answer.is_err_and(|error| error.errno == Errno::EXIST) {
        // It may be a name of that very file, from a run before.
        let twin = statat(handles.target(), &first.name);
        if let (Ok(one), Ok(two)) = (twin, statat(target, entry.target))
            && one.same_file(&two)
        {
            answer = Ok(());
        } else {
            answer = match make_room(worker, task, entry, item) {
                Room::Made => link(),
                Room::Without => existing::swap_in(target, entry.target, |hidden| {
                    linkat(handles.target(), &first.name, target, hidden, Follow::No)
                }),
                Room::None => return,
            };
        }
    }
    let name = || Name {
        node: Arc::clone(entry.node),
        name: entry.target.to_owned(),
        source: entry.source.to_owned(),
    };
    match answer {
        Ok(()) => {
            let backup = item.backup.as_deref();
            entry.tell_backed_up(run, Outcome::Linked, item.stat.kind(), backup);
            Shard::one(&worker.local.shard.hard_links);
            secure_place(run, entry);
            already_done::note_named(run, task, entry, item, Names::Several);
            run.links.joined(crate::walk::node::identity(&item.stat), name());
        }
        Err(error) => {
            entry.fail_link(run, error.errno, first);
            if let Some(backup) = item.backup.take() {
                existing::restore(run, target, entry, &backup);
            }
        }
    }
}

/// Whether there is room for a name.
enum Room {
    Made,
    /// There is none, but what is there may be replaced.
    Without,
    None,
}

/// Frees a name that is to become another name of a file that was copied already. What is there
/// goes even with `-u` when it is newer, as GNU cp has it: the names belong together.
fn make_room(worker: &mut Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &mut Item) -> Room {
    let run = worker.operation;
    let goes = match existing::stand_taken(worker, task, entry, item) {
        TargetState::Free => return Room::Made,
        TargetState::Settled(Done::Skipped) => run.policy.existing == Existing::Older,
        TargetState::Settled(Done::Failed) => false,
        TargetState::Overwrite(_)
        | TargetState::Merge(_)
        | TargetState::Swap
        | TargetState::Replace(..) => true,
    };
    if !goes {
        return Room::None;
    }
    if run.policy.appears_whole() {
        return Room::Without;
    }
    match existing::remove(worker, task, entry) {
        TargetState::Free => Room::Made,
        _ => Room::None,
    }
}

/// Makes the target another name of the source itself (`-l`).
pub(super) fn to_source(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &mut Item,
) {
    let run = worker.operation;
    let standing = existing::stand(worker, task, entry, item);
    if matches!(standing, TargetState::Settled(_)) {
        return;
    }
    let (source, target) = (task.handles.source(), task.handles.target());
    let follow =
        if item.stat.kind() == Kind::Symlink { Follow::No } else { find::follows(run, entry) };
    entry.tell_backed_up(run, Outcome::Copied, item.stat.kind(), item.backup.as_deref());
    let link = |name: &CStr| linkat(source, entry.source, target, name, follow);
    let made = match standing {
        TargetState::Swap => existing::swap_in(target, entry.target, link),
        _ => link(entry.target),
    };
    match made {
        Ok(()) => {
            Shard::one(&worker.local.shard.hard_links);
            secure_place(run, entry);
            if entry.is_operand() {
                run.note_operand_name(entry.target, statat(target, entry.target));
            }
        }
        Err(error) => {
            entry.fail(run, What::CreateHardLink, Some(error.errno));
            if let Some(backup) = item.backup.take() {
                existing::restore(run, target, entry, &backup);
            }
        }
    }
}

/// Removes a name that this run made and that must not stay.
pub(crate) fn unmake(run: &Run<'_>, node: &Arc<Node>, name: &CStr) {
    let removed = run.cache.of(node).and_then(|handles| unlinkat(handles.target(), name));
    if let Err(error) = removed
        && error.errno != Errno::NOENT
    {
        let entry = Entry { node, source: name, target: name, rest: None };
        entry.fail(run, What::Remove, Some(error.errno));
    }
}
