//! Map of the files with several names that the run has copied, and of the entries that wait for a
//! file's first name.
//!
//! A file is known by its state, not by its inode number alone: when all its names are removed during the copy,
//! another file may get the number. Where its times are too recent to tell the two apart, its file handle does.

use haul_sys::sync::MutexGuard;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use haul_sys::fs::{FileHandle, Kind, Stat};

use super::item::Item;
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::decide::Contents;
use crate::names::by_identity::ByIdentity;
use crate::names::known_names::{FileState, SourceState};

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
    /// What identifies the source, if it was changed too recently for its state to do so.
    handle: Option<FileHandle>,
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
    pub(crate) source: SourceState,
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
        Copied { source: SourceState::of(stat), made: Made::Now(stat.kind()) }
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
    groups: ByIdentity<Group, SourceState>,
}

/// Action for a name of such a file.
pub(super) enum Claim<'a> {
    /// Make this name, which is the first, and then publish it. Entries of the same file wait until
    /// then.
    First(First<'a>),
    /// Link to this name, which the run has made before, if the source has this handle.
    Made(Name, Option<FileHandle>),
    /// Wait for this file, which has no name yet.
    Coming(Coming<'a>),
}

/// Queue of the entries that wait for the first name of their file.
pub(super) struct Coming<'a> {
    part: MutexGuard<'a, HashMap<SourceState, Group>>,
    source: SourceState,
}

impl Coming<'_> {
    /// Queues an entry until the file has its first name.
    pub(super) fn wait(mut self, entry: &Entry<'_>, item: &mut Item) {
        let Some(group) = self.part.get_mut(&self.source) else { return };
        entry.node.owe();
        let described = [item.stat, item.link];
        let found = Item::found(item.slot, Contents::Special, described, item.described_after);
        group.waiting.push(Waiting {
            node: Arc::clone(entry.node),
            source: entry.source.to_owned(),
            target: entry.target.to_owned(),
            item: Item { changes: item.changes, ..found },
        });
    }
}

/// Exclusive right to make the first name.
pub(super) struct First<'a> {
    part: MutexGuard<'a, HashMap<SourceState, Group>>,
    source: SourceState,
}

impl First<'_> {
    /// Publishes the place of the file to the other workers.
    pub(super) fn publish(
        mut self,
        entry: &Entry<'_>,
        (stat, names): (&Stat, u64),
        complete: Complete,
        handle: Option<FileHandle>,
    ) {
        let first = Name {
            node: Arc::clone(entry.node),
            name: entry.target.to_owned(),
            source: entry.source.to_owned(),
        };
        let group = Group {
            first,
            copied: Copied::now(stat),
            handle,
            others: Vec::new(),
            waiting: Vec::new(),
            left: names.saturating_sub(1),
            complete: complete == Complete::Yes,
            unnamed: complete == Complete::Unnamed,
        };
        self.part.insert(self.source, group);
    }
}

impl LinkMap {
    /// Returns the action for a name of this file.
    pub(super) fn claim(&self, source: SourceState) -> Claim<'_> {
        let part = self.groups.part(source);
        match part.get(&source) {
            Some(group) if group.unnamed && !group.complete => {
                Claim::Coming(Coming { part, source })
            }
            Some(group) => Claim::Made(group.first.clone(), group.handle.clone()),
            None => Claim::First(First { part, source }),
        }
    }

    /// Records the first name of a file that an earlier run has copied.
    pub(crate) fn take_over(&self, copied: Copied, first: Name) {
        let source = copied.source;
        let group = Group {
            first,
            copied,
            handle: None,
            others: Vec::new(),
            waiting: Vec::new(),
            left: u64::MAX,
            complete: true,
            unnamed: false,
        };
        self.groups.part(source).insert(source, group);
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
    pub(super) fn joined(&self, source: SourceState, name: Name) {
        let mut part = self.groups.part(source);
        let Some(group) = part.get_mut(&source) else { return };
        group.left = group.left.saturating_sub(1);
        if !group.complete {
            group.others.push(name);
        } else if group.left == 0 {
            part.remove(&source);
        }
    }

    /// Marks a file as complete: its names are final, and the caller can link the returned entries
    /// to it.
    pub(crate) fn completed(&self, source: SourceState) -> Option<(Name, Vec<Waiting>)> {
        let mut part = self.groups.part(source);
        let group = part.get_mut(&source)?;
        group.complete = true;
        group.others = Vec::new();
        let waiting = std::mem::take(&mut group.waiting);
        let first = group.first.clone();
        if group.left == 0 {
            part.remove(&source);
        }
        Some((first, waiting))
    }

    /// Removes the waiting entries of a file that the run could not complete, and returns them.
    pub(crate) fn abandoned(&self, source: SourceState) -> Vec<Waiting> {
        self.groups
            .part(source)
            .get_mut(&source)
            .map(|group| std::mem::take(&mut group.waiting))
            .unwrap_or_default()
    }

    /// Removes a file that the run could not complete, and returns its other names, which the
    /// caller has to remove.
    pub(crate) fn failed(&self, source: SourceState) -> Vec<Name> {
        self.groups.part(source).remove(&source).map(|group| group.others).unwrap_or_default()
    }
}
