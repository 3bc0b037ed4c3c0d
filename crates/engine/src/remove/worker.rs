//! Removal as an operation on a tree: how the walk enters directories, removes batches and
//! finishes.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use haul_io::quirk::Latency;
use haul_sys::fs::Follow;
use haul_sys::{CallError, Errno};
use haul_tree::{Batch, Chunk, End, Entries, Finish, Handle, Nothing, Operation, Sequence};

use super::context::{Enter, Local, Task, Worker};
use super::delete_profile;
use super::node::{self, Node, OpenDirectories, RemoveDirectory};
use super::run::Run;
use super::{directory, entry, finish, operand};
use crate::data::error::What;
use crate::data::request::Order;
use crate::data::selected;

/// Time for one entry that indicates a large file. The kernel frees its pages and blocks outside
/// the directory's lock, so another worker can remove the next file meanwhile. A small file takes
/// 5 to 20 microseconds. If the kernel has to read the inode from a disk, another worker helps as
/// well.
const LARGE: Duration = Duration::from_micros(100);

/// Bytes of entries that are sorted at a time: some 400,000 entries. The limit bounds the memory
/// for directories of any size.
const SORTED_BYTES: usize = 15 << 20;

/// Number of subdirectories after which a chunk ends. All subdirectories of a chunk wait at once,
/// at each level of the tree.
const SUBDIRECTORIES: usize = 2048;

impl<'r> Operation for Run<'r> {
    type Directory = RemoveDirectory;
    type Found = Enter;
    type Shared = Nothing;
    type Local = Local<'r>;

    const JOINED_END: End = End::Back;

    fn local(&self, number: usize) -> Local<'r> {
        // If the control was made for fewer workers than the request has, workers share counters.
        // The counts stay correct.
        Local { counters: &self.control.counters[number % self.control.counters.len()] }
    }

    fn directories(&self) -> &OpenDirectories {
        &self.cache
    }

    fn is_stopped(&self) -> bool {
        self.stopped()
    }

    fn order(&self) -> Order {
        self.policy.order
    }

    fn chunk(&self, node: &Node) -> Chunk {
        let chunk = Chunk { subdirectories: SUBDIRECTORIES, ..Chunk::BUFFER };
        if self.policy.order == Order::Listed {
            return Chunk { sequence: Sequence::AsRead, ..chunk };
        }
        match node.delete_profile.quirk.removal.sequence {
            delete_profile::Sequence::AsRead => Chunk { sequence: Sequence::AsRead, ..chunk },
            delete_profile::Sequence::ByInode => {
                Chunk { sequence: Sequence::ByInode, bytes: SORTED_BYTES, ..chunk }
            }
        }
    }

    fn most_entries(worker: &Worker<'_, 'r>, node: &Node) -> usize {
        let is_near = node.delete_profile.quirk.latency == Latency::Local;
        let one = is_near && node.has_large.load(Ordering::Relaxed);
        if one { 1 } else { worker.operation.throttle.batch() }
    }

    fn may_grow(&self) -> bool {
        !self.throttle.is_limited() && self.governor.is_none() && !haul_io::gentle::is_begun()
    }

    fn waiting_room(&self, node: &Node) -> usize {
        room(node)
    }

    fn allocation_group(&self, found: &Enter) -> Option<u64> {
        found.allocation_group
    }

    fn started(&self) {
        self.control.workers.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(worker: &mut Worker<'_, 'r>, found: Enter) -> Option<Arc<Task>> {
        directory::enter(worker, found)
    }

    fn select(&self, node: &Node, handle: &Handle, names: &mut Entries) {
        if node.protected.leave_out(handle.as_fd(), names) {
            node::keep(node);
        }
        let Some(within) = &node.within else { return };
        if selected::leave_out(within, node::listing(node), handle.as_fd(), names, Follow::No) {
            node::keep(node);
        }
    }

    fn handle(worker: &mut Worker<'_, 'r>, batch: Batch<'_, RemoveDirectory>) {
        let Batch { task, handle, entries } = batch;
        let count = entries.slots.len();
        if count == 0 {
            return;
        }
        let run = worker.operation;
        let node = &task.node;
        run.throttle.admit(count as u64, run.control.stop);
        let begun = Instant::now();
        if node.is_root() {
            operand::remove(worker, node, entries);
        } else {
            entry::remove(worker, node, handle, entries);
        }
        let took = begun.elapsed();
        run.rest();
        let each = took / u32::try_from(count).unwrap_or(u32::MAX);
        if each > LARGE && run.policy.order == Order::Any {
            node.has_large.store(true, Ordering::Relaxed);
        } else if count == 1 {
            node.has_large.store(false, Ordering::Relaxed);
        }
        task.set_room(room(node));
    }

    fn finish(worker: &mut Worker<'_, 'r>, node: &Arc<Node>) -> Finish {
        finish::finish(worker, node)
    }

    fn reopen_failed(&self, node: &Node, error: CallError) {
        node::keep(node);
        selected::meet_all(&node.within);
        self.report(What::Remove, node::path(node), Some(error.errno));
    }

    fn read_failed(&self, node: &Node, error: CallError) {
        // A directory that another process has removed has no more entries.
        if error.errno != Errno::NOENT {
            node::keep(node);
            selected::meet_all(&node.within);
            self.report(What::ReadDirectory, node::path(node), Some(error.errno));
        }
    }
}

/// Returns how many workers are useful in a directory; only one takes operands.
pub(super) fn room(node: &Node) -> usize {
    if node.is_root() { 1 } else { node.room() }
}
