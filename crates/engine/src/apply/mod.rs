//! The actions: what is done to each entry, in three steps that a batch goes through together.
//!
//! *Find* opens and describes sources, by any number of workers at once. *Make* makes the names in
//! the target, by one worker at a time in each directory, for the kernel's lock on the directory
//! allows no more. *Fill* moves bytes and applies attributes, again by any number. So a flat
//! directory is a pipeline of its workers, and one worker alone does the same three steps.

mod already_done;
pub(crate) mod backup;
mod changed;
pub(crate) mod commit_group;
pub(crate) mod directory;
pub(crate) mod existing;
mod fill;
mod find;
pub(crate) mod hardlink;
mod inherited;
mod make;
mod regular;
pub(crate) mod resumable;
pub(crate) mod shared;
mod special;
mod symlink;
pub(crate) mod temporary;
mod verified;

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};

use haul_io::block_digests::BlockDigests;
use haul_sys::fs::Stat;

use crate::run::{Entry, Run};
use crate::worker::{Task, Worker};
use haul_tree::{Entries, Slot};

/// The source of an entry, once it is found.
pub(crate) enum Content {
    /// Bytes: a regular file, or a FIFO or device that is read like one. Opened, or to be opened
    /// when it is known that they are wanted.
    Data(Option<OwnedFd>),
    /// A directory.
    Directory,
    /// A symbolic link that is copied.
    Symlink,
    /// A FIFO, a socket or a device that is made anew.
    Special,
}

/// An entry that was found.
pub(crate) struct Item {
    slot: Slot,
    content: Content,
    /// What is copied.
    stat: Stat,
    /// What the name itself is.
    link: Stat,
    /// The name that what was there got.
    backup: Option<CString>,
    /// The target, once it is made and waits for its bytes.
    target: Option<Target>,
}

/// A regular file (or what stands in its place) that waits for its bytes.
pub(crate) struct Target {
    pub(crate) fd: OwnedFd,
    /// The mode it was made with; `None` if it was there before.
    pub(crate) mode: Option<u32>,
    /// What it was before, if it was there.
    pub(crate) before: Option<Stat>,
    /// Whether other names of the source wait for this one.
    pub(crate) leads_links: bool,
    /// The name that what was there got, to be given back if this does not come about.
    pub(crate) backup: Option<CString>,
    /// Who remembers its bytes, if anybody.
    pub(crate) digests: Option<Arc<BlockDigests>>,
    /// How it gets its name, if it has not got it yet.
    pub(crate) temporary: Option<Box<temporary::Temporary>>,
    /// What a later run can go on with, if this one does not complete it.
    pub(crate) partial: Option<Arc<resumable::Resumable>>,
}

impl Target {
    /// A file that is open, has its name, and of which nothing else is known.
    fn open(run: &Run<'_>, fd: OwnedFd) -> Target {
        Target {
            fd,
            mode: None,
            before: None,
            leads_links: false,
            backup: None,
            digests: run.digests(),
            temporary: None,
            partial: None,
        }
    }
}

/// What follows a file in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    /// Others that are worth a worker of their own.
    Large,
    /// None such.
    Small,
}

/// The items of a batch; kept, so that its memory is.
#[derive(Default)]
pub(crate) struct Batch {
    items: Vec<Item>,
}

/// Handles the entries of a batch.
pub(crate) fn run(worker: &mut Worker<'_, '_>, task: &Task, names: &Entries, batch: &mut Batch) {
    let entry = |slot: &Slot| Entry {
        node: &task.node,
        source: names.name(slot),
        target: names.target(slot),
        rest: names.rest(slot),
    };
    batch.items.clear();
    for slot in &names.slots {
        if worker.operation.stopped() {
            break;
        }
        batch.items.extend(find::find(worker, task, &entry(slot), slot));
    }
    {
        let _one_at_a_time = task.create.lock().unwrap_or_else(PoisonError::into_inner);
        for item in &mut batch.items {
            if worker.operation.stopped() {
                break;
            }
            make::make(worker, task, &entry(&item.slot), item);
        }
    }
    let last_large = batch.items.iter().rposition(|item| {
        item.target.is_some() && item.stat.size >= haul_io::transfer::WORTH_BYTES
    });
    for (index, item) in batch.items.drain(..).enumerate() {
        let slot = item.slot;
        let follow = if last_large > Some(index) { Follow::Large } else { Follow::Small };
        if let (Some(target), Content::Data(Some(source))) = (item.target, item.content) {
            fill::fill(worker, task, &entry(&slot), (source, &item.stat), (target, follow));
        }
    }
}
