//! Which files with several names were copied already, and what waits for a file's first name.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::item::{Content, Item};
use crate::entry::Entry;
use crate::walk::node::{Identity, Node};

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
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
    pub(super) item: Item,
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
    pub(super) fn joined(&self, id: Identity, name: Name) {
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
