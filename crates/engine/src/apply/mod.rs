//! Actions on each entry, in three steps that a batch goes through as a whole.
//!
//! *Find* opens and describes sources, with any number of workers in parallel. *Make* makes the
//! names in the target, with one worker at a time in each directory, because the kernel's lock on
//! the directory allows no more. *Fill* moves bytes and applies attributes, again with any number
//! of workers. A flat directory is therefore a pipeline of its workers, and a single worker does
//! the same three steps.

mod alone;
mod already_done;
pub(crate) mod backup;
mod changed;
pub(crate) mod commit_group;
mod complete;
mod created;
pub(crate) mod directory;
pub(crate) mod existing;
mod fill;
mod find;
mod finished;
pub(crate) mod group;
pub(crate) mod hardlink;
mod inherited;
pub(crate) mod item;
pub(crate) mod links;
mod make;
mod published;
mod regular;
pub(crate) mod resumable;
pub(crate) mod shared;
mod sibling;
mod special;
mod swap;
mod symlink;
pub(crate) mod temporary;
mod unfinished;
mod verified;

use std::sync::PoisonError;

use self::item::{Batch, Content, Follow};
use crate::context::{Task, Worker};
use crate::entry::Entry;
use haul_tree::{Entries, Slot};

/// Runs the three steps on the entries of a batch.
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
