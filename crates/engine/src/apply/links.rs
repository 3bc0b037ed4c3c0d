//! Map of the files with several names that the run has copied, and of the entries that wait for a
//! file's first name.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, MutexGuard};

use haul_sys::fs::{Kind, Stat, Time};

use super::item::Item;
use crate::decide::Contents;
use crate::entry::Entry;
use crate::known_names::FileState;
use crate::walk::by_identity::ByIdentity;
use crate::walk::node::{Identity, Node};

/// Name in the target.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) node: Arc<Node>,
    pub(crate) name: CString,
    /// Name of the file in the source.
    pub(crate) source: CString,
}

/// Whether a file has all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    NotYet,
    /// The file is not complete, and has no name until it is.
    Unnamed,
}

/// File of the target that has, or may get, several names.
struct Group {
    first: Name,
    copied: Copied,
    /// Other names of the file, kept until the first is complete, because they are removed if it
    /// fails.
    others: Vec<Name>,
    /// Entries that become names of the file once it has its first name.
    waiting: Vec<Waiting>,
    /// Number of source names that the run has not met yet; the map forgets the group with the last
    /// one.
    left: u64,
    complete: bool,
    /// Whether the file gets its first name only when it is complete.
    unnamed: bool,
}

/// What was copied under the first name of a file.
#[derive(Clone, Copy)]
pub(crate) struct Copied {
    /// State of the source when the first name was made.
    pub(crate) source: FileState,
    /// Time of the last change of the source then.
    pub(crate) source_ctime: Time,
    pub(crate) made: Made,
}

/// Run that made the first name of a file.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    /// This one, of a source of this kind.
    Now(Kind),
    /// An earlier one, which left the copy in this state.
    Before(FileState),
}

impl Copied {
    fn now(stat: &Stat) -> Copied {
        let made = Made::Now(stat.kind());
        Copied { source: FileState::of(stat), source_ctime: stat.ctime, made }
    }
}

/// Entry that waits for the first name of its file.
pub(crate) struct Waiting {
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
    pub(super) item: Item,
}

/// Map of the source files with several names that the run has copied.
#[derive(Default)]
pub(crate) struct LinkMap {
    groups: ByIdentity<Group>,
}

/// Action for a name of such a file.
pub(super) enum Claim<'a> {
    /// Make this name, which is the first, and then publish it. Entries of the same file wait until
    /// then.
    First(First<'a>),
    /// Link to this name, which the run has made before.
    Made(Name),
    /// Wait for this file, which has no name yet.
    Coming(Coming<'a>),
}

/// Queue of the entries that wait for the first name of their file.
pub(super) struct Coming<'a> {
    part: MutexGuard<'a, HashMap<Identity, Group>>,
    id: Identity,
}

impl Coming<'_> {
    /// Queues an entry until the file has its first name.
    pub(super) fn wait(mut self, entry: &Entry<'_>, item: &mut Item) {
        let Some(group) = self.part.get_mut(&self.id) else { return };
        entry.node.owe();
        let (stat, link, slot) = (item.stat, item.link, item.slot);
        group.waiting.push(Waiting {
            node: Arc::clone(entry.node),
            source: entry.source.to_owned(),
            target: entry.target.to_owned(),
            item: Item {
                slot,
                contents: Contents::Special,
                source: None,
                stat,
                described_after: item.described_after,
                link,
                backup: None,
                target: None,
            },
        });
    }
}

/// Exclusive right to make the first name.
pub(super) struct First<'a> {
    part: MutexGuard<'a, HashMap<Identity, Group>>,
    id: Identity,
}

impl First<'_> {
    /// Publishes the place of the file to the other workers.
    pub(super) fn publish(
        mut self,
        entry: &Entry<'_>,
        (stat, names): (&Stat, u64),
        complete: Complete,
    ) {
        let first = Name {
            node: Arc::clone(entry.node),
            name: entry.target.to_owned(),
            source: entry.source.to_owned(),
        };
        let group = Group {
            first,
            copied: Copied::now(stat),
            others: Vec::new(),
            waiting: Vec::new(),
            left: names.saturating_sub(1),
            complete: complete == Complete::Yes,
            unnamed: complete == Complete::Unnamed,
        };
        self.part.insert(self.id, group);
    }
}

impl LinkMap {
    /// Returns the action for a name of this file.
    pub(super) fn claim(&self, id: Identity) -> Claim<'_> {
        let part = self.groups.part(id);
        match part.get(&id) {
            Some(group) if group.unnamed && !group.complete => Claim::Coming(Coming { part, id }),
            Some(group) => Claim::Made(group.first.clone()),
            None => Claim::First(First { part, id }),
        }
    }

    /// Records the first name of a file that an earlier run has copied.
    pub(crate) fn take_over(&self, copied: Copied, first: Name) {
        let id = (copied.source.dev, copied.source.ino);
        let group = Group {
            first,
            copied,
            others: Vec::new(),
            waiting: Vec::new(),
            left: u64::MAX,
            complete: true,
            unnamed: false,
        };
        self.groups.part(id).insert(id, group);
    }

    /// Calls a function for each complete file whose source has more names than the run has met. They may
    /// be outside of what it copies. Blocks all workers that meet a file with several names.
    pub(crate) fn for_each_with_missing_names(&self, mut each: impl FnMut(&Name, &Copied)) {
        self.groups.for_each_part(|part| {
            for group in part.values().filter(|group| group.complete) {
                each(&group.first, &group.copied);
            }
        });
    }

    /// Records another name of a file.
    pub(super) fn joined(&self, id: Identity, name: Name) {
        let mut part = self.groups.part(id);
        let Some(group) = part.get_mut(&id) else { return };
        group.left = group.left.saturating_sub(1);
        if !group.complete {
            group.others.push(name);
        } else if group.left == 0 {
            part.remove(&id);
        }
    }

    /// Marks a file as complete: its names are final, and the caller can link the returned entries
    /// to it.
    pub(crate) fn completed(&self, id: Identity) -> Option<(Name, Vec<Waiting>)> {
        let mut part = self.groups.part(id);
        let group = part.get_mut(&id)?;
        group.complete = true;
        group.others = Vec::new();
        let waiting = std::mem::take(&mut group.waiting);
        let first = group.first.clone();
        if group.left == 0 {
            part.remove(&id);
        }
        Some((first, waiting))
    }

    /// Removes the waiting entries of a file that the run could not complete, and returns them.
    pub(crate) fn abandoned(&self, id: Identity) -> Vec<Waiting> {
        self.groups
            .part(id)
            .get_mut(&id)
            .map(|group| std::mem::take(&mut group.waiting))
            .unwrap_or_default()
    }

    /// Removes a file that the run could not complete, and returns its other names, which the
    /// caller has to remove.
    pub(crate) fn failed(&self, id: Identity) -> Vec<Name> {
        self.groups.part(id).remove(&id).map(|group| group.others).unwrap_or_default()
    }
}
